// Which part of a file a request wants, by its Range and If-Range headers (RFC 9110): one range, or all of it.
// Many ranges are answered with the whole: putting them together would cost more than they are worth.

type Part = { start: number; end: number } | 'all' | 'none'

/** `end` is behind the last byte; `none` where the range lies behind the file's end. */
export function partOf(headers: Headers, bytes: number, etag: string): Part {
  const condition = headers.get('if-range')
  if (condition !== null && condition !== etag) return 'all'
  const [, first = '', last = ''] = /^bytes=(\d{0,16})-(\d{0,16})$/.exec(headers.get('range') ?? '') ?? []
  if (first === '' && last === '') return 'all'
  if (first === '') {
    // The last so many bytes.
    const count = Math.min(Number(last), bytes)
    return count === 0 ? 'none' : { start: bytes - count, end: bytes }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return 'all'
  if (start >= bytes) return 'none'
  return { start, end: last === '' ? bytes : Math.min(Number(last) + 1, bytes) }
}
