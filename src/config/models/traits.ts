// The traits of a model in the configuration: those that differ from what is known by its name. An unknown trait must be a
// fault that lists the traits.

import { Type } from '@sinclair/typebox'
import { Traits } from '../../contract/traits'
import { closed } from '../../lib/setting'

export const TraitsEntry = Type.Partial(Traits, closed)

/** The fault of a trait that does not exist, by its path in an entry of `models`; undefined for any other place. */
export function traitFault(path: string): string | undefined {
  const name = path.match(/^\/traits\/([^/]+)$/)?.[1]
  if (name === undefined || Object.hasOwn(Traits.properties, name)) return undefined
  return `unknown trait; the traits are ${Object.keys(Traits.properties).join(', ')}`
}
