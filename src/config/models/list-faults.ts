// Faults of an external list of a vendor's models: its form, its names and every price. A faulty list must not be accepted, not
// even in part.

import { Type } from '@sinclair/typebox'
import { Check } from '@sinclair/typebox/value'
import { parseForeign } from '../../lib/json/json'
import { isObject } from '../../lib/objects'
import { upstreamKinds } from '../../upstreams/kinds'
import { faultsOf } from '../schema'
import { type VendorList, withVendorLists } from './vendor-lists'

/** The largest list, in bytes: some ten times that of the vendor with most models. */
export const MAX_LIST_BYTES = 16 * 1024 * 1024

const NAME = /^[a-z0-9][\w.:@/-]{0,127}$/i
const day = Type.String({ pattern: '^20\\d\\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$' })
const Form = Type.Object(
  {
    kind: Type.String(),
    source: Type.String({ maxLength: 500 }),
    fetchedAt: day,
    models: Type.Record(Type.String(), Type.Object({})),
    ends: Type.Record(
      Type.String(),
      Type.Object({ retires: day, successor: Type.Optional(Type.String()) }, { additionalProperties: false }),
    ),
    refused: Type.Record(Type.String(), Type.String()),
  },
  { additionalProperties: false },
)

/** The list in a valid text, or its faults. */
export function readVendorList(text: string): { list: VendorList } | { faults: string[] } {
  let value: unknown
  try {
    value = parseForeign(text)
  } catch (error) {
    return { faults: [`it is not JSON: ${(error as Error).message}`] }
  }
  if (keysIn(text) > keysOf(value)) return { faults: ['a name appears twice in one object'] }
  if (!Check(Form, value)) {
    return { faults: ['it is not a list of models: see prices/ in the source tree for the form'] }
  }
  const list = value as unknown as VendorList
  const faults = listFaults(list)
  return faults.length > 0 ? { faults } : { list }
}

function listFaults(list: VendorList): string[] {
  if (!upstreamKinds.has(list.kind)) return [`there is no kind of upstream "${list.kind}"`]
  const ids = new Set<string>()
  const faults = [
    ...[...Object.keys(list.models), ...Object.keys(list.ends)].flatMap((name) =>
      NAME.test(name) ? [] : [`${JSON.stringify(name)} cannot be the name of a model`],
    ),
    ...Object.keys(list.models).flatMap((name) => {
      const id = name.toLowerCase()
      if (ids.has(id)) return [`two models would be called "${id}"`]
      ids.add(id)
      return []
    }),
  ]
  if (faults.length > 0) return faults
  // Checks the list as if an upstream served it: every setting and every price, as in a configuration.
  const upstreams = { listed: { kind: list.kind, apiKey: 'none', listed: true } }
  return faultsOf(withVendorLists({ upstreams, models: {} }, () => list).value)
}

/** The number of names in a JSON text: strings before a colon. */
function keysIn(text: string): number {
  return text.match(/"(?:[^"\\]|\\.)*"(?=\s*:)/g)?.length ?? 0
}

/** The number of names in all objects of a value. */
function keysOf(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum, item) => sum + keysOf(item), 0)
  if (!isObject(value)) return 0
  return Object.values(value).reduce<number>((sum, item) => sum + 1 + keysOf(item), 0)
}
