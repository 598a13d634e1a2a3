// Traits: the rules of a model that its vendor's API does not have for every model. Data and its schema only. The effect of a trait
// on a request must not be decided here: each protocol has its own pass in families/traits/.

import { type Static, Type } from '@sinclair/typebox'
import { closed, requiredSetting } from '../lib/setting'

const TAKEN = ['always', 'unless_thinking', 'never'] as const
const Taken = Type.Union(TAKEN.map((word) => Type.Literal(word)))
/** When a model accepts something: in every request, only without thinking, or never. */
export type Taken = (typeof TAKEN)[number]
const Forced = Type.Union([...Taken.anyOf, Type.Literal('any_tool')])

const Thinking = Type.Union((['never', 'optional', 'always'] as const).map((word) => Type.Literal(word)))

const THINKING_FORMS = ['effort', 'adaptive', 'budget', 'switch', 'enable_thinking'] as const
const ThinkingForm = Type.Union(THINKING_FORMS.map((word) => Type.Literal(word)))

const RETURNED = ['nothing', 'reasoning', 'demanded_reasoning', 'signatures'] as const
const Returned = Type.Union(RETURNED.map((word) => Type.Literal(word)))
/** The rule of a vendor for earlier answers with calls of tools. */
export type Returned = (typeof RETURNED)[number]

/** The traits of a model. A request never contains anything that a trait forbids. */
export const Traits = Type.Object(
  {
    thinking: requiredSetting(
      'Whether it thinks before it answers: `never`, `optional` or `always`.',
      Thinking,
    ),
    thinksByDefault: requiredSetting(
      'Whether a model with `optional` thinking thinks by default.',
      Type.Boolean(),
    ),
    thinkingForms: requiredSetting(
      'How a request may control thinking, the preferred form first: `effort` (an effort and nothing else), `adaptive` (`thinking.type: adaptive`), `budget` (`thinking.budget_tokens`), `switch` (`thinking.type` is `enabled` or `disabled`) or `enable_thinking`.',
      Type.Array(ThinkingForm, { minItems: 1 }),
    ),
    efforts: Type.Optional(
      requiredSetting(
        'Efforts that it accepts, the lowest first. `none` turns thinking off. An empty list: it accepts no effort. Absent: unknown, every effort is sent.',
        Type.Array(Type.String({ minLength: 1 })),
      ),
    ),
    offEfforts: Type.Optional(
      requiredSetting(
        'Efforts that it accepts with thinking turned off. Absent: all of `efforts`.',
        Type.Array(Type.String({ minLength: 1 })),
      ),
    ),
    sampling: requiredSetting('When it accepts `temperature`, `top_p` and `top_k`.', Taken),
    bothSampling: requiredSetting(
      'Whether it accepts `temperature` and `top_p` in one request.',
      Type.Boolean(),
    ),
    stop: requiredSetting('Whether it accepts stop sequences.', Type.Boolean()),
    penalties: requiredSetting(
      'Whether it accepts `frequency_penalty` and `presence_penalty`.',
      Type.Boolean(),
    ),
    logitBias: requiredSetting('Whether it accepts `logit_bias`.', Type.Boolean()),
    logprobs: requiredSetting('Whether it returns probabilities of tokens.', Type.Boolean()),
    speech: requiredSetting('Whether it accepts `modalities` and `audio` for its answer.', Type.Boolean()),
    prediction: requiredSetting('Whether it accepts a predicted output.', Type.Boolean()),
    verbosity: requiredSetting('Whether it accepts a `verbosity` for its answer.', Type.Boolean()),
    schemas: requiredSetting('Whether it accepts a JSON schema for its answer.', Type.Boolean()),
    strictTools: requiredSetting('Whether it accepts `strict` on a tool.', Type.Boolean()),
    maxTokens: requiredSetting(
      'Whether chat completions accept `max_tokens`. If not, the limit is sent as `max_completion_tokens`.',
      Type.Boolean(),
    ),
    parallelCalls: requiredSetting(
      'Whether it accepts `parallel_tool_calls`. `unless_minimal`: not together with the effort `minimal`.',
      Type.Union([Type.Boolean(), Type.Literal('unless_minimal')]),
    ),
    forcedToolChoice: requiredSetting(
      'When a request may force a call of a tool. `any_tool`: always, but not of a specific tool.',
      Forced,
    ),
    toolsBesideEffort: requiredSetting(
      'Whether chat completions accept tools while it thinks. If not, such requests are sent to `responses`.',
      Type.Boolean(),
    ),
    returned: Type.Optional(
      requiredSetting(
        'What chat completions must return of earlier answers that called tools: `nothing`, `reasoning` (`reasoning_content`, if the caller still has it), `demanded_reasoning` (a turn without it is refused; if it is lost, a blank is sent) or `signatures` (thought signatures; if one is lost, the documented filler is sent). Absent: by the name of the model.',
        Returned,
      ),
    ),
    prefill: requiredSetting('When the last message may be the beginning of the answer.', Taken),
  },
  closed,
)
export type Traits = Static<typeof Traits>

/** A model without its own rules: one that does not think, and accepts every field of its vendor's API. */
export const plainTraits: Traits = {
  thinking: 'never',
  thinksByDefault: false,
  thinkingForms: ['effort'],
  sampling: 'always',
  bothSampling: true,
  stop: true,
  penalties: true,
  logitBias: true,
  logprobs: true,
  speech: true,
  prediction: true,
  verbosity: true,
  schemas: true,
  strictTools: true,
  maxTokens: true,
  parallelCalls: true,
  forcedToolChoice: 'always',
  toolsBesideEffort: true,
  prefill: 'always',
}
