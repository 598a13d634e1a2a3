// The bytes of events whose text has not been read yet: most never are. It must not retain the memory of the pieces in which they
// arrived, and never release a block: blocks serve one stream after another.

const BLOCK_BYTES = 8 * 1024
const LARGE_BYTES = BLOCK_BYTES / 4
/** Maximum number of blocks kept for the next stream: enough for a thousand streams that have just ended. */
const MAX_FREE = 4 * 1024
const NOTHING = Buffer.alloc(0)

/**
 * Blocks of ended streams. If they were left to the garbage collector, a thousand streams a second would occupy hundreds of
 * megabytes before it collected them.
 */
const free: Buffer[] = []

/** Copies small pieces together: otherwise each would stay in the heap, a hundred per stream. */
export class UnreadEvents {
  byteLength = 0
  /** Whole pieces and the used parts of blocks, in order. */
  private parts: Buffer[] = []
  private blocks: Buffer[] = []
  private block: Buffer = NOTHING
  /** The written bytes of the block, and those of them that are in no part yet. */
  private used = 0
  private from = 0

  add(bytes: Buffer): void {
    const { length } = bytes
    this.byteLength += length
    if (length > LARGE_BYTES) {
      this.endPart()
      this.parts.push(bytes)
      return
    }
    if (this.used + length > this.block.length) this.beginBlock()
    bytes.copy(this.block, this.used)
    this.used += length
  }

  /** Returns all of it as Latin-1, and clears it. */
  take(): string {
    this.endPart()
    const text = Buffer.concat(this.parts).toString('latin1')
    this.forget()
    return text
  }

  /** Clears all of it. Its memory serves the next streams. */
  forget(): void {
    if (free.length < MAX_FREE) free.push(...this.blocks)
    this.parts = []
    this.blocks = []
    this.block = NOTHING
    this.used = 0
    this.from = 0
    this.byteLength = 0
  }

  private beginBlock(): void {
    this.endPart()
    this.block = free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES)
    this.blocks.push(this.block)
    this.used = 0
    this.from = 0
  }

  private endPart(): void {
    if (this.used > this.from) this.parts.push(this.block.subarray(this.from, this.used))
    this.from = this.used
  }
}
