// A body as the stream of an answer, at the reader's pace. It must never buffer a piece that nobody has requested.

import type { HttpBody } from './response'

/** A body as a stream. If the body breaks off, the stream fails with the error that `broken` derives from the reason. */
export function readableOf(
  source: HttpBody,
  broken: (reason: unknown) => unknown,
): ReadableStream<Uint8Array> {
  const pieces = source[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await pieces.next()
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (error) {
          controller.error(broken(error))
        }
      },
      cancel: () => source.cancel(),
    },
    { highWaterMark: 0 },
  )
}
