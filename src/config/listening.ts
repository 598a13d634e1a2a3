// The parts of `server` in the configuration that say how callers connect: certificate, trusted proxies. A message about them must
// never quote a key.

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Static, Type } from '@sinclair/typebox'
import { Check } from '@sinclair/typebox/value'
import ipaddr from 'ipaddr.js'
import { closed, requiredSetting } from '../lib/setting'

export const TlsEntry = Type.Object(
  {
    certFile: requiredSetting(
      'The certificate as a PEM file, followed by the certificates of its issuers.',
      Type.String({ minLength: 1 }),
    ),
    keyFile: requiredSetting(
      'Its private key as a PEM file, without a password.',
      Type.String({ minLength: 1 }),
    ),
  },
  closed,
)
type TlsEntry = Static<typeof TlsEntry>

/** A certificate with its key, both as PEM. */
export interface Certificate {
  cert: string
  key: string
}

/** Faults that the schema cannot express; empty if the entry does not fit the schema. Reads the files that it names. */
export function tlsFaults(entry: unknown): string[] {
  if (!Check(TlsEntry, entry)) return []
  try {
    certificateOf(entry)
    return []
  } catch (error) {
    return [(error as Error).message]
  }
}

/** Reads the files of an entry. Throws an error with the setting and its fault. */
export function certificateOf(entry: TlsEntry): Certificate {
  const cert = read('certFile', entry)
  const key = read('keyFile', entry)
  const certificate = attempt('certFile', 'has no certificate as PEM', entry, () => new X509Certificate(cert))
  const privateKey = attempt('keyFile', 'has no private key as PEM without a password', entry, () =>
    createPrivateKey(key),
  )
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(
      `server.tls.keyFile: ${entry.keyFile} is not the key of the certificate in ${entry.certFile}`,
    )
  }
  return { cert, key }
}

/** When a certificate ends, in milliseconds since 1970. Throws if its file cannot be read or has none. */
export function certificateEndsAt(certFile: string): number {
  return Date.parse(new X509Certificate(readFileSync(certFile)).validTo)
}

function read(name: keyof TlsEntry, entry: TlsEntry): string {
  try {
    return readFileSync(entry[name], 'utf8')
  } catch (error) {
    const { code = 'no such file' } = error as { code?: string }
    throw new Error(`server.tls.${name}: ${entry[name]} cannot be read (${code})`)
  }
}

function attempt<Result>(name: keyof TlsEntry, fault: string, entry: TlsEntry, work: () => Result): Result {
  try {
    return work()
  } catch {
    throw new Error(`server.tls.${name}: ${entry[name]} ${fault}`)
  }
}

/** Faults of a list of networks at a place of the configuration. */
export function networkFaults(place: string, networks: unknown): string[] {
  return (Array.isArray(networks) ? networks : [])
    .filter((network) => typeof network === 'string' && !ipaddr.isValidCIDR(network))
    .map((network) => `${place}: "${network}" is not a network such as "192.168.0.0/16"`)
}
