// Finds the field that caused a vendor's refusal, for counts by field. Pure. It must never return more of a vendor's message than a
// name: the rest may be a caller's text.

const NAME = '[A-Za-z_][\\w.\\[\\]-]*'
/** How vendors name a field in their messages, the most specific form first. */
const NAMED: readonly RegExp[] = [
  // Google: `Unknown name "store": Cannot find field.`
  new RegExp(`unknown name "(${NAME})"`, 'i'),
  // Groq: "`metadata` is not supported with this model"
  new RegExp(`[\`'"](${NAME})[\`'"](?: and .*)? (?:is|are) not (?:supported|allowed|permitted|a valid)`, 'i'),
  // xAI: "Argument not supported on this model: presencePenalty", "… does not support parameter reasoningEffort"
  new RegExp(`not supported on this model: (${NAME})`, 'i'),
  // DashScope: "Field required: input.media"
  new RegExp(`field required: (${NAME})`, 'i'),
  // Mistral: "body.top_k: Extra inputs are not permitted"; Anthropic: "messages.3.content.0.thinking: Field required"
  /^(?:body\.)?(?!error:)([a-z_][\w.[\]-]*): /,
  new RegExp(`(?:parameter|argument|field|property)s?:? [\`'"](${NAME})[\`'"]`, 'i'),
  new RegExp(`(?:parameter|argument)s?:? (${NAME})`, 'i'),
]
const MAX_LENGTH = 64

/** The field in the vendor's `param` or in its message, with all indexes replaced by the same text; empty if neither names one. */
export function refusedField(message: string, param: string | null): string {
  const named = param || NAMED.map((pattern) => pattern.exec(message)?.[1]).find((name) => name !== undefined)
  return (named ?? '')
    .replace(/\[\d+\]|\.\d+(?=\.|$)/g, '[]')
    .replace(/\.$/, '')
    .slice(0, MAX_LENGTH)
}
