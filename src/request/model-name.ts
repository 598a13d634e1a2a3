// Replaces the name of the model in the events of a stream, as bytes: callers see the id that they know, not the vendor's name. It
// must never touch text that a model has written.

/** Bytes of several events that arrived together. */
const BURST_BYTES = 2 * 1024
/** Room for nearly every name of a model. */
const MEMBER_BYTES = 256

/**
 * Creates a function that replaces the vendor's model name by the gateway's id. It learns the vendor's name from the
 * first event that has one.
 */
export function createRename(id: string): (bytes: Buffer, allocate: Allocate) => Buffer {
  const wanted = Buffer.from(`"model":${JSON.stringify(id)}`)
  let from: Buffer | undefined
  let isSame = false
  return (bytes, allocate) => {
    if (from === undefined) {
      // Events with pictures are large and contain no name.
      const at = bytes.indexOf('"model"')
      if (at === -1) return bytes
      const found = memberIn(bytes, at, at + MEMBER_BYTES) ?? memberIn(bytes, at, bytes.length)
      if (found === undefined) return bytes
      from = Buffer.from(found, 'latin1')
      isSame = from.equals(wanted)
    }
    return isSame ? bytes : replaceAll(bytes, from, wanted, allocate)
  }
}

/** The first member with the name of a model, as it is written. Inside a JSON string its quotes would be escaped. */
function memberIn(bytes: Buffer, start: number, end: number): string | undefined {
  return /"model"\s*:\s*"(?:[^"\\]|\\.)+"/.exec(bytes.toString('latin1', start, end))?.[0]
}

type Allocate = (byteLength: number) => Buffer

/** The bytes with all replacements; the input if there is nothing to replace. */
function replaceAll(bytes: Buffer, from: Buffer, to: Buffer, allocate: Allocate): Buffer {
  const first = bytes.indexOf(from)
  if (first === -1) return bytes
  if (bytes.length > BURST_BYTES) return replaceInText(bytes, from, to, allocate)
  let places = 0
  for (let at = first; at !== -1; at = bytes.indexOf(from, at + from.length)) places++
  const result = allocate(bytes.length + places * (to.length - from.length))
  let read = 0
  let written = 0
  for (let at = first; at !== -1; at = --places > 0 ? bytes.indexOf(from, read) : -1) {
    written += bytes.copy(result, written, read, at)
    written += to.copy(result, written)
    read = at + from.length
  }
  bytes.copy(result, written, read)
  return result
}

/** Many replacements through Latin-1, which preserves every byte: faster from about five on. */
function replaceInText(bytes: Buffer, from: Buffer, to: Buffer, allocate: Allocate): Buffer {
  const parts = bytes.toString('latin1').split(from.toString('latin1'))
  const text = parts.join(to.toString('latin1'))
  const result = allocate(text.length)
  result.write(text, 'latin1')
  return result
}
