// Weighted rendezvous hashing: each session has a score for each member, and the member with the highest score serves it. Every node
// computes the same without a table. It must never change: another hash would move all sessions of all users once.

/** The hash of a text, in 32 bits. `seed` is the hash of the preceding texts. */
export function hashOf(text: string, seed = 0): number {
  return Bun.hash.xxHash32(text, seed)
}

const TWO_TO_32 = 2 ** 32

/** A number between 0 and 1 for a session and a member, derived from their hashes. It looks random, and is the same each time. */
export function drawOf(session: number, member: number): number {
  // The last steps of MurmurHash3: each bit of the input changes half of the bits of the result.
  let bits = Math.imul(session, 0x9e3779b1) ^ member
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  bits ^= bits >>> 16
  return ((bits >>> 0) + 0.5) / TWO_TO_32
}

/**
 * The score of a member by its draw and its weight. Each member has the highest score as often as its weight says, and no score
 * depends on the others: if one is removed, only its own sessions move.
 */
export function scoreOf(draw: number, weight: number): number {
  return Math.log(draw) / weight
}
