// Recorded properties of single OpenAI models (test/vendors/openai): names, reasoning efforts, context sizes. It must never use the
// gateway's knowledge of a model.

import { asString } from '../json'

const family =
  /^(gpt-3\.5-turbo|gpt-4|gpt-4o|gpt-4\.1|gpt-4\.5|gpt-[56](?:\.\d)?|o1|o3|o4|gpt-rosalind|chat-latest|(?:gpt-)?daybreak)(?:-[a-z0-9-]+)?$/

export const listedModels = [
  'gpt-4.1',
  'gpt-4.1-mini',
  'gpt-4o',
  'gpt-4o-mini',
  'gpt-5',
  'gpt-5-mini',
  'gpt-5-nano',
  'gpt-5.1',
  'gpt-5.4',
  'gpt-5.4-mini',
  'gpt-5.6-luna',
  'gpt-6-astra',
  'gpt-6-luna',
  'gpt-6-sol',
  'o3',
  'o4-mini',
  'text-embedding-3-large',
  'text-embedding-3-small',
  'text-embedding-ada-002',
  'gpt-image-2',
  'gpt-image-2.5-flare',
  'gpt-image-2.5-sunburst',
  'whisper-1',
  'gpt-transcribe',
  'gpt-4o-transcribe',
  'gpt-4o-mini-transcribe',
  'gpt-4o-transcribe-diarize',
  'tts-1',
  'tts-1-hd',
  'gpt-4o-mini-tts',
]

/** When single models shut down: developers.openai.com/api/docs/deprecations, 2026-11. */
const shutdownDates = new Map([
  ...['gpt-4.1', 'gpt-4.1-mini', 'gpt-4o', 'gpt-4o-mini'].map((name) => [name, '2027-01-14'] as const),
  ...['gpt-5', 'gpt-5-mini', 'gpt-5-nano', 'o3'].map((name) => [name, '2026-12-11'] as const),
  ['gpt-5.1', '2027-04-01'],
  ['o4-mini', '2026-10-23'],
  ['whisper-1', '2027-02-26'],
  ['gpt-4o-transcribe', '2027-02-26'],
  ['gpt-4o-mini-transcribe', '2027-02-26'],
  ['gpt-4o-transcribe-diarize', '2027-02-26'],
  ...['tts-1', 'tts-1-hd', 'gpt-4o-mini-tts'].map((name) => [name, '2027-01-06'] as const),
])

/** The model in the form of the vendor's list. */
export function listedModel(name: string) {
  return {
    id: name,
    object: 'model',
    created: 1_754_006_400,
    owned_by: 'openai',
    shutdown_date: shutdownDates.get(name) ?? null,
  }
}

/** Whether a model stands for any server of this form, which accepts unknown fields. */
export function isLenient(model: string): boolean {
  return model.startsWith('local-')
}

export function isChatModel(model: string): boolean {
  return isLenient(model) || family.test(model)
}

/** The dated name that the real service puts into its replies. */
export function datedName(model: string): string {
  return isLenient(model) || /\d{4}-\d\d-\d\d$/.test(model) ? model : `${model}-2025-08-07`
}

type Endpoint = 'chat' | 'responses'

/** Efforts by model name, for chat completions and for responses: the first matching row. No row: it does not reason. */
const effortRows: readonly [names: RegExp, chat: readonly string[], responses?: readonly string[]][] = [
  [/^o[134]/, ['low', 'medium', 'high']],
  // The price list of litellm 1.110.2: reasoning_effort_levels.
  [/^chat-latest/, ['medium']],
  [/daybreak/, ['low', 'medium', 'high']],
  // github.com/Laisky/one-api/issues/266 and github.com/CherryHQ/cherry-studio/issues/10430, 2025-11.
  [/^gpt-5\.\d-chat/, ['medium']],
  [/^gpt-5-codex/, ['low', 'medium', 'high']],
  [/^gpt-5(?!\.|-chat|-pro)/, ['minimal', 'low', 'medium', 'high']],
  // github.com/openai/codex/issues/6647 and github.com/ben-vargas/ai-sdk-provider-codex-cli/pull/8, 2025-11.
  [/^gpt-5\.1-codex-max|^gpt-5\.2-codex/, ['low', 'medium', 'high', 'xhigh']],
  [/^gpt-5\.1-codex/, ['low', 'medium', 'high']],
  [/^gpt-5\.[2-5]-pro/, ['medium', 'high', 'xhigh']],
  [/^gpt-5-pro/, ['high']],
  [/^gpt-5\.1/, ['none', 'low', 'medium', 'high']],
  [/^gpt-5\.[2-5]/, ['none', 'low', 'medium', 'high', 'xhigh']],
  [
    /^gpt-6-astra|^gpt-6\.1-sol/,
    ['low', 'medium', 'high', 'xhigh'],
    ['low', 'medium', 'high', 'xhigh', 'max'],
  ],
  [/^gpt-5\.|^gpt-6/, ['none', 'low', 'medium', 'high', 'xhigh', 'max']],
]
/** Models that do not reason unless a request enables it. */
const QUIET = /^gpt-5\.[1-4](?!\d|-pro|-codex|-chat)/

/** Supported efforts in ascending order; undefined for a model that does not reason. */
export function effortsOf(model: string, endpoint: Endpoint): readonly string[] | undefined {
  const [, chat, responses = chat] = effortRows.find(([names]) => names.test(model)) ?? []
  return endpoint === 'chat' ? chat : responses
}

/** How much a model reasons at this effort, or without one. */
export function effortIn(model: string, effort: unknown): string {
  const usual = effortsOf(model, 'chat') && !QUIET.test(model) ? 'medium' : 'none'
  return asString(effort) ?? usual
}

const reasoningByEffort = new Map([
  ['none', 0],
  ['minimal', 4],
  ['low', 8],
  ['medium', 16],
  ['high', 32],
  ['xhigh', 64],
  ['max', 128],
])

export function reasoningTokens(model: string, effort: unknown): number {
  return effortsOf(model, 'chat') ? (reasoningByEffort.get(effortIn(model, effort)) ?? 0) : 0
}

export function contextTokensMax(model: string): number {
  if (/^gpt-6/.test(model)) return 1_050_000
  if (/^gpt-5/.test(model)) return 400_000
  return /^gpt-4\.1/.test(model) ? 1_047_576 : 128_000
}
