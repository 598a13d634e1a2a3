// Answers of vendors with faults in their JSON: members that are null, missing, of another kind or from elsewhere, lists with
// holes, and deeply nested values. A seed repeats them. It must not know which parts of an answer are read.

import type { Random } from '../random'
import type { Json } from '../scenario'
import { DEEP, nestedText } from '../vendors/recorded'
import { branchesOf, withValue } from './json-paths'

const nested = (levels: number): Json => JSON.parse(nestedText(levels))

const VALUES: readonly ((random: Random) => unknown)[] = [
  () => null,
  () => null,
  () => undefined,
  () => [],
  () => [null],
  () => [[null], {}, 'x', 7],
  () => ({}),
  () => ({ type: null }),
  () => '',
  () => 'x',
  () => '\ud800',
  () => 'x\0',
  // Too long for an index of a database, even compressed.
  (random) => Array.from({ length: 1_000 }, () => random.below(2 ** 31).toString(36)).join(''),
  () => true,
  () => false,
  (random) => random.pick([0, -1, 7, 0.5, 1e21, Number.MAX_SAFE_INTEGER]),
  () => ({ toString: null, length: 3 }),
  () => JSON.parse('{"__proto__": {"type": "message"}, "constructor": null}'),
  (random) => (random.chance(0.02) ? DEEP : nested(3)),
]

type Mutation = (value: Json, random: Random) => Json

const MUTATIONS: readonly Mutation[] = [
  (value, random) => changed(value, random, () => random.pick(VALUES)(random)),
  (value, random) => changed(value, random, () => random.pick(VALUES)(random)),
  (value, random) => changed(value, random, () => null),
  // A part replaced by another one.
  (value, random) => {
    const paths = branchesOf(value)
    return paths.length === 0 ? value : changed(value, random, () => at(value, random.pick(paths)))
  },
  // A list with one more item.
  (value, random) =>
    changed(value, random, (old) =>
      // A JSON list cannot contain undefined.
      Array.isArray(old) ? [random.pick(VALUES)(random) ?? null, ...old] : [old, null],
    ),
  // A list twice, or in another order.
  (value, random) =>
    changed(value, random, (old) => (Array.isArray(old) ? [...old, ...old.toReversed()] : old)),
]

/** A copy with one to four faults in it. */
export function mutatedAnswer(value: Json, random: Random): Json {
  let mutated = value
  for (let faults = 1 + random.below(random.chance(0.6) ? 1 : 4); faults > 0; faults--) {
    mutated = random.pick(MUTATIONS)(mutated, random)
  }
  return mutated
}

/** A copy with another value at a random path; sometimes at the root. */
function changed(value: Json, random: Random, other: (old: Json) => unknown): Json {
  const paths = branchesOf(value)
  if (paths.length === 0 || random.chance(0.02)) return other(value) ?? null
  const path = random.pick(paths)
  return withValue(value, path, other(at(value, path)))
}

function at(value: Json, path: string): Json {
  return path.split('/').reduce((inner, key) => inner?.[key], value)
}
