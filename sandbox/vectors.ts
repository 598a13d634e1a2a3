// Deterministic embedding vectors: one text and one model always give the same numbers. They must never imply meaning: similar
// texts do not have similar vectors.

/** A vector of unit length, derived from a hash of the text. */
export function unitVector(text: string, length: number): Float64Array {
  const vector = new Float64Array(length)
  let state = Number(BigInt.asUintN(32, BigInt(Bun.hash(text)))) | 1
  for (let index = 0; index < length; index++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    vector[index] = state / 0x80000000
  }
  return normalised(vector)
}

/** A shorter vector as vendors make it: the head of the long one, scaled back to unit length or not. */
export function shortened(vector: Float64Array, length: number, normalise: boolean): Float64Array {
  if (length >= vector.length) return vector
  const head = vector.slice(0, length)
  return normalise ? normalised(head) : head
}

function normalised(vector: Float64Array): Float64Array {
  // A loop by index: millions of numbers pass here while the code is still interpreted.
  let sum = 0
  for (let index = 0; index < vector.length; index++) {
    const value = vector[index] as number
    sum += value * value
  }
  const norm = Math.sqrt(sum)
  const scaled = new Float64Array(vector.length)
  for (let index = 0; index < vector.length; index++) scaled[index] = (vector[index] as number) / norm
  return scaled
}

/** Plain numbers with as many digits as float32 keeps. */
export function asNumbers(vector: Float64Array): number[] {
  const numbers = new Array<number>(vector.length)
  for (let index = 0; index < vector.length; index++)
    numbers[index] = Math.round((vector[index] as number) * 1e8) / 1e8
  return numbers
}

export function asBase64(numbers: Float32Array | Int8Array | Uint8Array): string {
  return Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength).toString('base64')
}

/** Items in an order that is never the original one, and the same at every call. */
export function shuffled<Item>(items: readonly Item[]): Item[] {
  const odd = items.filter((_item, index) => index % 2 === 1)
  const even = items.filter((_item, index) => index % 2 === 0)
  return [...odd, ...even.reverse()]
}
