// Reads the requested part of a file from the Range and If-Range headers (RFC 9110): one range, or the whole file. It must never
// combine several ranges: such requests get the whole file, because combining is not worth its cost.

type Part = { start: number; end: number } | 'all' | 'none'

/** The part of a file. `end` is after the last byte; `none` means that the range is after the file's end. */
export function partOf(headers: Headers, bytes: number, etag: string): Part {
  const condition = headers.get('if-range')
  if (condition !== null && condition !== etag) return 'all'
  const [, first = '', last = ''] = /^bytes=(\d{0,16})-(\d{0,16})$/.exec(headers.get('range') ?? '') ?? []
  if (first === '' && last === '') return 'all'
  if (first === '') {
    // A suffix: that number of last bytes.
    const count = Math.min(Number(last), bytes)
    return count === 0 ? 'none' : { start: bytes - count, end: bytes }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return 'all'
  if (start >= bytes) return 'none'
  return { start, end: last === '' ? bytes : Math.min(Number(last) + 1, bytes) }
}
