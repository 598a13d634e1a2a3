// Describes settings in the schema of the configuration, each with a sentence for the reference of all settings. A
// setting without one must not compile.

import { type TSchema, Type } from '@sinclair/typebox'

/** Options of an object that accepts no other settings: a typing error must not pass. */
export const closed = { additionalProperties: false }
export const Count = Type.Integer({ minimum: 1, maximum: 1_000_000_000 })
export const Milliseconds = Type.Integer({ minimum: 1, maximum: 86_400_000 })

/** A required setting. */
export function requiredSetting<Schema extends TSchema>(description: string, schema: Schema): Schema {
  return { ...schema, description }
}

/** An optional setting. The description names the default. */
export const optionalSetting = <Schema extends TSchema>(description: string, schema: Schema) =>
  Type.Optional({ ...schema, description } as Schema)
