// Tools without `strict`, for models that do not accept it. The model still gets the schema of each tool, but its arguments are not
// forced to fit it. It must never change anything else of a tool.

import type { Model } from '../../contract/family'
import { asObject } from '../../lib/objects'

type Fields = Record<string, unknown>

/** The tools of a chat completion, a message or Converse without `strict`; undefined if none has it. */
export function withoutStrict(tools: unknown): unknown[] | undefined {
  return Array.isArray(tools) && tools.some(hasStrict)
    ? tools.map((tool) => cleared(asObject(tool)))
    : undefined
}

/** The name for the header of omitted fields: `tools[].strict`, if the caller set it without effect. */
export function ignoredStrict(body: unknown, { traits }: Model): string[] {
  const { tools } = asObject(body)
  return !traits.strictTools && Array.isArray(tools) && tools.some(asksStrict) ? ['tools[].strict'] : []
}

/** The places of the field: the tool itself, and its description in chat completions and in Converse. */
const INSIDE = ['function', 'toolSpec'] as const

const placesOf = (tool: Fields): Fields[] => [tool, ...INSIDE.map((name) => asObject(tool[name]))]
const hasStrict = (tool: unknown): boolean => placesOf(asObject(tool)).some((place) => 'strict' in place)
const asksStrict = (tool: unknown): boolean => placesOf(asObject(tool)).some(({ strict }) => strict === true)

function cleared({ strict: _, ...tool }: Fields): Fields {
  for (const name of INSIDE) {
    if (name in tool) tool[name] = withoutOwn(asObject(tool[name]))
  }
  return tool
}

const withoutOwn = ({ strict: _, ...rest }: Fields): Fields => rest
