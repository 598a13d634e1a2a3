// A form with files as the line knows it, free of HTTP, and the body that a family reads from it.
// The files stay where they are: nothing here may read their bytes.

import type { TSchema } from '@sinclair/typebox'
import type { Upload } from './family'

export interface Form {
  /** The text fields. */
  fields: ReadonlyMap<string, string>
  /** The files by field; `image`, `image[]` and `image[0]` are all the field `image`. */
  files: ReadonlyMap<string, readonly Upload[]>
  /** Bytes of all text fields. */
  textBytes: number
  /** Of the names and contents of all fields and files, whatever separates them on the wire. */
  hash: string
  /** Removes the files from disk. */
  dispose(): Promise<void>
}

/**
 * The form as the object that a family's schema describes: files as arrays of uploads, and texts as the numbers and
 * booleans that the schema wants, where they are such. What is not stays a text, for the schema to refuse by name.
 */
export function bodyOfForm(form: Form, schema: TSchema): Record<string, unknown> {
  const properties = (schema.properties ?? {}) as Record<string, TSchema>
  const texts = [...form.fields].map(([name, text]) => [name, readValue(text, properties[name])])
  // Made at once, because a field may be called `__proto__`.
  return Object.fromEntries([...texts, ...form.files])
}

function readValue(text: string, schema: TSchema | undefined): unknown {
  const types = typesOf(schema)
  if ((types.includes('integer') || types.includes('number')) && /^-?\d{1,15}(\.\d{1,15})?$/.test(text)) {
    return Number(text)
  }
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

function typesOf(schema: TSchema | undefined): unknown[] {
  if (!schema) return []
  return schema.anyOf ? (schema.anyOf as TSchema[]).flatMap(typesOf) : [schema.type]
}
