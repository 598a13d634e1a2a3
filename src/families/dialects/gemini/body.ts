// The schema of Google's generateContent, with the model and the stream flag of its URL written into the body. Google reads each
// name in either spelling, `systemInstruction` and `system_instruction`, and clients use both.
// https://ai.google.dev/api/generate-content, https://protobuf.dev/programming-guides/json/.

import { type Static, Type } from '@sinclair/typebox'
import type { PlainForm } from '../../../contract/family'
import { asObject } from '../../../lib/objects'
import { optionalField } from '../../shared-schemas'

const open = { additionalProperties: true }
const anyObject = Type.Object({}, open)
const parts = Type.Array(anyObject, { maxItems: 16_384 })

export const GeminiBody = Type.Object(
  {
    model: Type.String({ description: 'Id from GET /v1beta/models: the part of the address.' }),
    stream: optionalField(Type.Boolean()),
    contents: Type.Array(
      Type.Object({ role: optionalField(Type.String()), parts: optionalField(parts) }, open),
      {
        minItems: 1,
        maxItems: 16_384,
      },
    ),
    systemInstruction: optionalField(Type.Union([anyObject, Type.String()])),
    tools: optionalField(Type.Array(anyObject)),
    toolConfig: optionalField(anyObject),
    safetySettings: optionalField(Type.Array(anyObject)),
    generationConfig: optionalField(anyObject),
    cachedContent: optionalField(Type.String()),
    labels: optionalField(anyObject),
  },
  open,
)
export type GeminiBody = Static<typeof GeminiBody>

export const plainGemini: PlainForm = {
  fields: [],
  body: ({ text }) => ({ contents: [{ role: 'user', parts: [{ text }] }] }),
}

/** A member in either of its spellings; undefined if it is absent or null. */
export function memberOf(holder: unknown, name: string): unknown {
  const fields = asObject(holder)
  return fields[name] ?? fields[snakeCase(name)] ?? undefined
}

/** `systemInstruction` as `system_instruction`. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** A path in every mixture of both spellings of its members: the first path has only one spelling, the last only the other. */
export function spellings(path: string): string[] {
  return path.split('.').reduce<string[]>((paths, step) => {
    const names = [...new Set([step, snakeCase(step)])]
    return paths.length === 0 ? names : names.flatMap((name) => paths.map((before) => `${before}.${name}`))
  }, [])
}
