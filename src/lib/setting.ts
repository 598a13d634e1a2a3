// How settings are described in the schema of the configuration: each with a sentence that the reference of all settings is
// made from. A setting without one must not compile.

import { type TSchema, Type } from '@sinclair/typebox'

/** An object of settings takes no others: a typing error must not pass. */
export const closed = { additionalProperties: false }
export const Count = Type.Integer({ minimum: 1, maximum: 1_000_000_000 })
export const Milliseconds = Type.Integer({ minimum: 1, maximum: 86_400_000 })

/** One that must be there. */
export function requiredSetting<Schema extends TSchema>(description: string, schema: Schema): Schema {
  return { ...schema, description }
}

/** One that may be left out. The description says what holds then. */
export const optionalSetting = <Schema extends TSchema>(description: string, schema: Schema) =>
  Type.Optional({ ...schema, description } as Schema)
