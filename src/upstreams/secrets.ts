// The secrets of an upstream: its keys, from the configuration or a file, and everything else in its settings that must
// never be shown.

import { readFileSync } from 'node:fs'
import type { UpstreamKind } from '../contract/upstream'
import type { TlsOptions } from '../http-client/transport'
import { KEY_VARIABLE, type UpstreamConfig } from './settings'

/** Settings with these names contain secrets: some servers expect their key in the URL, proxies in a header. */
const SECRET_NAME = /key|token|secret|signature|auth|password|cookie/i

/** The keys of an upstream, null if it needs none; undefined if a key is missing. Reads the file that the setting names. */
export function keysOfUpstream(
  kind: UpstreamKind | undefined,
  { apiKey, apiKeyFile, credentials }: Pick<UpstreamConfig, 'apiKey' | 'apiKeyFile' | 'credentials'>,
): readonly (string | null)[] | undefined {
  // The connection finds these credentials itself, and sends no other key.
  if (credentials === 'aws') return [null]
  if (credentials) {
    const { accessKeyId, secretAccessKey, sessionToken } = credentials
    if (accessKeyId === undefined || secretAccessKey === undefined) return undefined
    return [[accessKeyId, secretAccessKey, sessionToken ?? []].flat().join(':')]
  }
  if (apiKeyFile !== undefined) return [readFileSync(apiKeyFile, 'utf8').trim()]
  if (apiKey === undefined) return kind?.keyless ? [null] : undefined
  return apiKey === null ? [null] : [apiKey].flat()
}

/** The variable that supplies the missing key: the one in the configuration file, otherwise the kind's default. */
export function keyVariableOf({ secretVariable }: UpstreamKind, entry: UpstreamConfig): string {
  return entry[KEY_VARIABLE] ?? secretVariable
}

/** Secrets other than the keys: in the URL, the query, the headers and the proxy. */
export function otherSecretsOf({ baseUrl, query, headers, proxy }: UpstreamConfig): string[] {
  const named = [
    ...(baseUrl === undefined ? [] : new URL(baseUrl).searchParams),
    ...Object.entries(query ?? {}),
    ...Object.entries(headers ?? {}),
  ]
  const values = named.filter(([name]) => SECRET_NAME.test(name)).map(([, value]) => value)
  const password = proxy ? new URL(proxy).password : ''
  const words = values.map((value) => value.replace(/^\w+ /, ''))
  return [...values, ...words, ...(password === '' ? [] : [password, decodeURIComponent(password)])]
}

/** The certificates of an upstream, read from their files. */
export function tlsOf({ tls }: Pick<UpstreamConfig, 'tls'>): TlsOptions | undefined {
  if (!tls) return undefined
  const { caFile, certFile, keyFile } = tls
  return {
    ...(caFile !== undefined && { ca: readFileSync(caFile, 'utf8') }),
    ...(certFile !== undefined && { cert: readFileSync(certFile, 'utf8') }),
    ...(keyFile !== undefined && { key: readFileSync(keyFile, 'utf8') }),
  }
}
