// Embedding vectors in the two forms that callers can request. It must never change a number beyond 32-bit precision.

/** A vector as base64 of little-endian 32-bit floats, the form that OpenAI's SDKs request by default. */
export function toBase64(vector: readonly number[]): string {
  const bytes = new DataView(new ArrayBuffer(vector.length * 4))
  for (let index = 0; index < vector.length; index++)
    bytes.setFloat32(index * 4, vector[index] as number, true)
  return Buffer.from(bytes.buffer).toString('base64')
}

/** The vector scaled to unit length. */
export function normalize(vector: readonly number[]): number[] {
  const length = Math.hypot(...vector)
  return length === 0 ? [...vector] : vector.map((value) => value / length)
}
