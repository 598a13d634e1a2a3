// The bytes of events whose text has not been read yet: most never are. It must not keep the memory of the pieces in
// which they came.

const BLOCK_BYTES = 8 * 1024
const LARGE_BYTES = BLOCK_BYTES / 4
const NOTHING = Buffer.alloc(0)

/** Copies small pieces together: as they came, each would stay in the heap, a hundred for each stream. */
export class UnreadEvents {
  byteLength = 0
  private full: Buffer[] = []
  private block: Buffer = NOTHING
  private used = 0

  add(bytes: Buffer): void {
    if (bytes.length > LARGE_BYTES) this.addLarge(bytes)
    else bytes.copy(this.room(bytes.length))
  }

  /** Room at the end, to be written at once and never again. */
  room(length: number): Buffer {
    if (length > LARGE_BYTES) return this.addLarge(Buffer.allocUnsafe(length))
    if (this.used + length > this.block.length) {
      if (this.used > 0) this.full.push(this.block.subarray(0, this.used))
      this.block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
      this.used = 0
    }
    this.byteLength += length
    this.used += length
    return this.block.subarray(this.used - length, this.used)
  }

  /** Takes all of it as Latin-1. */
  take(): string {
    const text = Buffer.concat([...this.full, this.block.subarray(0, this.used)]).toString('latin1')
    this.full = []
    this.block = this.block.subarray(this.used)
    this.used = 0
    this.byteLength = 0
    return text
  }

  /** Adds a piece that has memory of its own. */
  private addLarge(bytes: Buffer): Buffer {
    if (this.used > 0) this.full.push(this.block.subarray(0, this.used))
    this.block = this.block.subarray(this.used)
    this.used = 0
    this.full.push(bytes)
    this.byteLength += bytes.length
    return bytes
  }
}
