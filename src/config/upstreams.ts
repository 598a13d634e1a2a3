// Faults in the upstreams of a configuration that the schema cannot express. No message may quote a value that could hold
// a secret: an address, a header, a key.

import { readFileSync } from 'node:fs'
import { asObject } from '../lib/objects'
import { upstreamKinds } from '../upstreams/kinds'

/** Headers about the framing or the type of a request's body, which only the gateway knows. */
const OWN_HEADERS = [
  'host',
  'connection',
  'content-length',
  'content-type',
  'content-encoding',
  'transfer-encoding',
  'accept-encoding',
  'expect',
  'te',
  'trailer',
  'upgrade',
]
/** Required fields of a body, each with its source. */
const OWN_FIELDS: Readonly<Record<string, string>> = {
  model: 'it is the upstreamModel of a model',
  stream: 'the caller decides how the answer is sent',
}
/** Other fields that a vendor must get: the content of the request, and the limits of output that the price is held for. */
const NEEDED_FIELDS = [
  ...Object.keys(OWN_FIELDS),
  'messages',
  'input',
  'prompt',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
]

/** Faults of one upstream, each with its place. */
export function upstreamFaults(name: string, entry: Record<string, unknown>): string[] {
  const { kind, baseUrl, apiKey, apiKeyFile, headers, defaultBody, forcedBody, proxy, tls } = entry
  const known = [...upstreamKinds.keys()].join(', ')
  const faults = [
    ...(/^\.\.?$/.test(name) ? ['name: . and .. are the folder and the one above, in a path'] : []),
    ...(typeof kind !== 'string' || upstreamKinds.has(kind)
      ? []
      : [`kind: unknown kind "${kind}"; known: ${known}`]),
    ...missingFaults(kind, entry),
    ...addressFaults('baseUrl', baseUrl),
    ...([apiKey, apiKeyFile, entry.credentials].filter((given) => given !== undefined).length > 1
      ? [
          `${apiKeyFile === undefined ? 'credentials' : 'apiKeyFile'}: give one of apiKey, apiKeyFile and credentials`,
        ]
      : fileFaults('apiKeyFile', apiKeyFile)),
    ...(entry.credentials === 'aws' && upstreamKinds.get(String(kind))?.sign === undefined
      ? ['credentials: "aws" is for a kind whose requests are signed']
      : []),
    ...(entry.discover && !upstreamKinds.get(String(kind))?.listing?.freeFamily
      ? [
          'discover: only for a kind whose models are all free; for others fetch a list (`gateway prices fetch`)',
        ]
      : []),
    ...headerFaults(headers),
    ...bodyFaults('defaultBody', defaultBody),
    ...bodyFaults('forcedBody', forcedBody),
    ...omittedFaults(entry.omittedFields),
    ...(typeof proxy === 'string' && !/^http:\/\/[^/]/.test(URL.parse(proxy)?.href ?? '')
      ? ['proxy: not an address such as "http://proxy.example.com:3128"']
      : []),
    ...tlsFaults(tls),
  ]
  return faults.map((fault) => `upstreams.${name}.${fault}`)
}

/** Faults of settings that the kind needs. */
function missingFaults(kind: unknown, entry: Record<string, unknown>): string[] {
  const { needs = [] } = upstreamKinds.get(String(kind)) ?? {}
  return needs
    .filter((setting) => entry[setting] === undefined)
    .map((setting) => `${setting}: missing; an upstream of the kind ${kind} needs it`)
}

/** The fault of a URL: a part that would be lost or cannot be called. */
function addressFaults(place: string, address: unknown): string[] {
  // The schema has reported the fault.
  if (typeof address !== 'string' || !/^https?:\/\//.test(address)) return []
  const url = URL.parse(address)
  if (!url) return [`${place}: not an address such as "https://api.example.com/v1"`]
  if (url.username || url.password)
    return [`${place}: a user and a password in an address are not sent: use apiKey`]
  return address.includes('#') ? [`${place}: what follows # is not sent: leave it out`] : []
}

function headerFaults(headers: unknown): string[] {
  return Object.keys(asObject(headers)).flatMap((header) => {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(header)) return [`headers.${header}: not the name of a header`]
    return OWN_HEADERS.includes(header.toLowerCase())
      ? [`headers.${header}: the gateway sets this header itself`]
      : []
  })
}

function bodyFaults(place: string, fields: unknown): string[] {
  return Object.entries(asObject(fields)).flatMap(([field, value]) => {
    const why = OWN_FIELDS[field]
    if (why !== undefined) return [`${place}.${field}: cannot be set here: ${why}`]
    return JSON.stringify(value) === undefined ? [`${place}.${field}: has no value that JSON can hold`] : []
  })
}

function omittedFaults(fields: unknown): string[] {
  return (Array.isArray(fields) ? fields : [])
    .filter((field) => NEEDED_FIELDS.includes(field))
    .map((field) => `omittedFields: the vendor needs "${field}"; name only fields that can be left out`)
}

function tlsFaults(tls: unknown): string[] {
  const files = asObject(tls)
  const faults = Object.entries(files).flatMap(([name, file]) => fileFaults(`tls.${name}`, file))
  const { certFile, keyFile } = files
  return (certFile === undefined) === (keyFile === undefined)
    ? faults
    : [...faults, 'tls: certFile and keyFile belong together']
}

/** The fault of a file that cannot be read, or is empty. */
export function fileFaults(place: string, file: unknown): string[] {
  if (typeof file !== 'string' || file === '') return []
  try {
    return readFileSync(file, 'utf8').trim() === '' ? [`${place}: ${file} is empty`] : []
  } catch (error) {
    const reason = (error as { code?: string }).code ?? 'no such file'
    return [`${place}: ${file} cannot be read (${reason})`]
  }
}
