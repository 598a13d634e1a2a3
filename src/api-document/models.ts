// The page of known models, docs/models.md, made from their table and from the schema of traits. Explains once what each trait
// means for a request; the traits passes decide it.

import { plainTraits, Traits } from '../contract/traits'
import { knownModels } from '../families/traits/known-models'
import { type KnownModel, reasoning } from '../families/traits/known-models/row'

/** A setting of a request, the trait that excludes it, and how it is treated. */
const effects: readonly (readonly [setting: string, trait: string, effect: string])[] = [
  [
    '`temperature`, `top_p`, `top_k`',
    '`sampling`: `never`, or `unless_thinking` while it thinks',
    'left out',
  ],
  ['`top_p` together with `temperature`', '`bothSampling`: `false`', 'left out'],
  ['stop sequences', '`stop`: `false`', 'left out'],
  ['`frequency_penalty`, `presence_penalty`', '`penalties`: `false`', 'left out'],
  ['`logit_bias`', '`logitBias`: `false`', 'left out'],
  ['`logprobs`, `top_logprobs`', '`logprobs`: `false`', 'left out'],
  ['`modalities`, `audio`', '`speech`: `false`', 'left out'],
  ['`prediction`', '`prediction`: `false`', 'left out'],
  ['`verbosity`', '`verbosity`: `false`', 'left out'],
  ['an answer by a JSON schema', '`schemas`: `false`', 'refused with 400'],
  ['`strict` of a tool', '`strictTools`: `false`', 'left out, and named in `x-gateway-ignored`'],
  [
    '`parallel_tool_calls`',
    '`parallelCalls`: `false`, or `unless_minimal` with the effort `minimal`',
    'left out',
  ],
  ['`max_tokens` of a chat completion', '`maxTokens`: `false`', 'sent as `max_completion_tokens`'],
  ['`thinking: { type: disabled }`', '`thinking`: `always`', 'the lowest effort of the model'],
  ['an effort together with `thinking: { type: disabled }`', '`offEfforts` without it', 'the next below'],
  ['a budget of thinking', '`thinkingForms` without `budget`', 'the effort that corresponds to it'],
  ['an effort, or adaptive thinking', '`thinkingForms` with `budget` and without `adaptive`', 'a budget'],
  [
    'a forced call of a tool',
    '`forcedToolChoice`: `unless_thinking`',
    'thinking is turned off for this request',
  ],
  ['a forced call of a tool', '`forcedToolChoice`: `never`', 'refused with 400'],
  [
    'a forced call of a certain tool of a chat completion',
    '`forcedToolChoice`: `any_tool`',
    'sent as `required` where there is no other tool, else refused with 400',
  ],
  ['a last message of the assistant', '`prefill`: `never`', 'refused with 400'],
  [
    'tools of a chat completion or a message',
    '`toolsBesideEffort`: `false`, while it thinks',
    'sent to `responses`, where the model has this family too',
  ],
  [
    'an effort that is not in `efforts`',
    '`efforts`',
    'refused with 400, which lists those that are; `minimal` is sent as `low` where thinking is adaptive',
  ],
]

export function modelsPage(): string {
  return `# Known models

\`\`\`console elsewhere
$ curl https://ai.example.com/v1/chat/completions -H "Authorization: Bearer $API_KEY" \\
    --json '{"model":"claude-opus-4-6","reasoning_effort":"xhigh","messages":[{"role":"user","content":"Hi"}]}'
{"error":{"message":"Unsupported value: 'reasoning_effort' does not support 'xhigh' with claude-opus-4-6. Supported values are: 'none',
'low', 'medium', 'high', and 'max'.","type":"invalid_request_error","param":"reasoning_effort","code":"unsupported_value",…}}
\`\`\`

Made by \`bun run docs\` from the table of known models (\`src/families/traits/known-models/\`); change that.

A model has traits: the rules of its own that its vendor enforces. They are known by the vendor's name (\`upstreamModel\`), with or
without a prefix of a vendor (\`anthropic/\`, \`us.anthropic.\`) and a suffix with a date or a version. Nothing needs to be configured. Where a
model has no row, or a vendor has changed a rule, the configuration says it, trait by trait:

\`\`\`ts
models: {
  thinker: {
    family: 'openai-chat', upstream: 'mine', free: true,
    traits: { thinking: 'optional', thinksByDefault: true, thinkingForms: ['enable_thinking'], sampling: 'never' },
  },
}
\`\`\`

\`reasoning: true\` stands for \`${traitsIn(reasoning)}\`, for a model that has no row. What each trait means is in
[configuration](configuration.md).

## What becomes of a request

| In a request | Trait of the model | Becomes |
| --- | --- | --- |
${effects.map((row) => `| ${row.join(' | ')} |`).join('\n')}

A request without any of these passes byte for byte, where the model speaks the dialect of the caller.

## Models

Traits that differ from those of a model without rules, which are: ${traitsIn(plainTraits)}.

| Names | Traits | Context | Output | Tokens of a call | Source |
| --- | --- | --- | --- | --- | --- |
${knownModels.map(rowOf).join('\n')}
`
}

function rowOf(known: KnownModel): string {
  const {
    names,
    traits,
    at = {},
    contextTokens,
    maxOutputTokens,
    batchTokens,
    source,
    limitsSource,
    asOf,
  } = known
  const tokens = (count: number | undefined) => count?.toLocaleString('en-US') ?? ''
  const cells = [
    names.map((name) => `\`${name}\``).join(', '),
    [traitsIn(traits), ...Object.entries(at).map(([kind, own]) => `at \`${kind}\`: ${traitsIn(own)}`)].join(
      '; ',
    ),
    tokens(contextTokens),
    tokens(maxOutputTokens),
    tokens(batchTokens),
    `[${asOf}](${source})${limitsSource === undefined ? '' : `, [limits](${limitsSource})`}`,
  ]
  return `| ${cells.join(' | ')} |`
}

/** Traits in the order of the schema. */
function traitsIn(traits: Partial<Traits>): string {
  return Object.keys(Traits.properties)
    .flatMap((name) => {
      const value = traits[name as keyof Traits]
      if (value === undefined) return []
      const words = Array.isArray(value) ? (value.length > 0 ? value.join(', ') : 'no') : String(value)
      return [`${name}: ${words}`]
    })
    .join('; ')
}
