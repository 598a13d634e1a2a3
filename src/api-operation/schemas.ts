// Schemas that operations share. Answers are open: fields may be added.

import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { Nullable } from './operation'

export const text = Type.String()
export const count = Type.Integer({ minimum: 0 })
export const maybeText = Nullable(Type.String())
export const maybeCount = Nullable(Type.Integer())
export const dollars = Type.String({ description: 'Dollars.' })

/** A list in an answer, which may be read-only. */
export const list = <Item extends TSchema>(item: Item, options: object = {}) =>
  Type.Unsafe<readonly Static<Item>[]>(Type.Array(item, options))

/** Values under names that no schema knows. For answers. */
export const mapOf = <Value extends TSchema>(value: Value, description?: string) =>
  Type.Unsafe<Record<string, Static<Value>>>({
    type: 'object',
    additionalProperties: value,
    ...(description !== undefined && { description }),
  })

/** An answer that the document names, with an example. */
export function named<Properties extends TProperties>(
  $id: string,
  properties: Properties,
  example: object,
  options: object = {},
) {
  return Type.Object(properties, { $id, examples: [example], ...options })
}

/** A whole list. */
export const WholeList = <Row extends TSchema>(row: Row) =>
  Type.Object({ object: Type.Literal('list'), data: Type.Array(row) })

/** A page of a list, with the cursor of the next one. */
export const CursorPage = <Row extends TSchema>(row: Row) =>
  Type.Object({ object: Type.Literal('list'), data: Type.Array(row), next: maybeText })

/** How many rows a page has. */
export const limitParameter = (usual: number, most: number, description = 'Rows on a page.') =>
  Type.Integer({ minimum: 1, maximum: most, default: usual, description })
