// Media types that a browser may display as declared; all others are served as plain bytes. It must never accept a type that can
// contain a script, such as SVG or HTML.

/** Safe types, each with its file extension. */
const safeTypes = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/webp', 'webp'],
  ['image/gif', 'gif'],
  ['image/avif', 'avif'],
  ['audio/mpeg', 'mp3'],
  ['audio/wav', 'wav'],
  ['audio/ogg', 'ogg'],
  ['audio/flac', 'flac'],
  ['audio/aac', 'aac'],
  ['audio/mp4', 'm4a'],
  ['video/mp4', 'mp4'],
  ['video/webm', 'webm'],
  ['video/quicktime', 'mov'],
])

/** Other names of safe types. */
const aliases: Record<string, string> = {
  'image/jpg': 'image/jpeg',
  'audio/mp3': 'audio/mpeg',
  'audio/x-wav': 'audio/wav',
  'audio/wave': 'audio/wav',
  'audio/x-m4a': 'audio/mp4',
}

export const UNKNOWN_TYPE = 'application/octet-stream'

/** The media type in a header, under its usual name and without parameters. Empty if the header has none. */
export function mediaTypeIn(header: string | null): string {
  const named = header?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return aliases[named] ?? named
}

/** The safe type of a file by its header, otherwise by the extension of its name. */
export function safeTypeOf(header: string | null, pathname: string): string {
  const type = mediaTypeIn(header)
  if (safeTypes.has(type)) return type
  // File stores often declare everything as bytes. A declared type that is not safe is served as bytes.
  if (type !== '' && type !== UNKNOWN_TYPE && type !== 'binary/octet-stream') return UNKNOWN_TYPE
  const ending = /\.([a-z0-9]{2,5})$/i.exec(pathname)?.[1]?.toLowerCase().replace('jpeg', 'jpg')
  return [...safeTypes].find(([, own]) => own === ending)?.[0] ?? UNKNOWN_TYPE
}

export function fileEndingOf(type: string): string {
  return safeTypes.get(type) ?? 'bin'
}
