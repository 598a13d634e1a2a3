// Rows in the form of answers: the schema of each field and how it is read, in one place. A view must never show a field that it
// does not name.

import { type Static, type TObject, type TProperties, type TSchema, Type } from '@sinclair/typebox'
import { open } from './operation'

type Fields<Row, Schemas extends TProperties> = {
  [Name in keyof Schemas]: readonly [schema: Schemas[Name], read: (row: Row) => Static<Schemas[Name]>]
}

/** Builds the schema of displayed rows, and the function that displays one: `viewOf<Task>()({ id: [text, ({ id }) => id] })`. */
export function viewOf<Row>() {
  return <Schemas extends TProperties>(fields: Fields<Row, Schemas>) => {
    const entries = Object.entries<readonly [TSchema, (row: Row) => unknown]>(fields)
    const schemas = Object.fromEntries(entries.map(([name, [schema]]) => [name, schema]))
    return {
      schema: Type.Object(schemas) as TObject<Schemas>,
      /** The schema for replies to which later versions may add fields. */
      reply: Type.Object(schemas, open) as TObject<Schemas>,
      /** The names of the fields, as titles of a table. */
      titles: Object.keys(fields),
      show: (row: Row) =>
        Object.fromEntries(entries.map(([name, [, read]]) => [name, read(row)])) as Static<TObject<Schemas>>,
    }
  }
}
