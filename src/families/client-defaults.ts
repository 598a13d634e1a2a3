// Fields and tools that clients send with every request, whatever their user wants. They are omitted if they cannot be served, and
// named in a response header. This is the only such list; a tool that must be called may never be omitted.

/** Tools that a vendor runs, and clients that offer them in each request. The names are those of OpenAI's SDK (`responses.d.ts`). */
const OFFERED_TOOLS: readonly { name: string; type: RegExp; clients: string }[] = [
  { name: 'web_search', type: /^web_search(_preview)?(_\d{4}_\d\d_\d\d)?$/, clients: 'Codex' },
  { name: 'image_generation', type: /^image_generation$/, clients: 'the openai-native provider of Cline' },
]

/** The types of all tools that clients offer by default, as one expression. */
export const OFFERED_TYPES = new RegExp(OFFERED_TOOLS.map(({ type }) => type.source).join('|'))

/** The names of tools on the list, each once. */
export function offeredIn(tools: readonly { type?: unknown }[]): string[] {
  const types = tools.flatMap(({ type }) => (typeof type === 'string' ? [type] : []))
  return OFFERED_TOOLS.filter(({ type }) => types.some((each) => type.test(each))).map(({ name }) => name)
}

/** Lists that LangChain and others send empty, each with the fields that are meaningless without it. */
const EMPTY_LISTS: readonly { list: string; choice: string; others: readonly string[] }[] = [
  { list: 'tools', choice: 'tool_choice', others: ['parallel_tool_calls'] },
  { list: 'functions', choice: 'function_call', others: [] },
]

/** Values of a choice that force no call. */
const FORCES_NOTHING: ReadonlySet<unknown> = new Set([undefined, null, 'auto', 'none'])

/**
 * The fields of empty lists of tools, which OpenAI refuses ("[] is too short - 'tools'"). Empty if a call is forced: that is a
 * mistake of the caller, which the vendor explains.
 */
export function emptyListsIn(body: Readonly<Record<string, unknown>>): string[] {
  const fields: string[] = []
  for (const { list, choice, others } of EMPTY_LISTS) {
    const value = body[list]
    const isEmpty = Array.isArray(value) && value.length === 0
    if (isEmpty && FORCES_NOTHING.has(body[choice]))
      fields.push(...[list, choice, ...others].filter((field) => field in body))
  }
  return fields
}
