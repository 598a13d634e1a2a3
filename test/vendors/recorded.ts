// Refusals by vendors as others recorded them: test/vendors/<vendor>/<rule>.json. Each refusal has an independent
// source. Never add a refusal without a source, or words that are not in the source.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { VendorName } from '../../sandbox'

export type JsonObject = Record<string, unknown>

/** One request that a vendor refused. */
export interface Refusal {
  source: string
  /** The date of the source, or its month. */
  date: string
  /** The model's name at the vendor. */
  model: string
  /** The path below the vendor's base URL. */
  path: string
  headers?: Record<string, string>
  /** The members that cause the refusal, in addition to the model and a prompt. */
  request: JsonObject
  /** The prompt, if it has to put the simulator's account into a certain condition. */
  prompt?: string
  status: number
  /** The vendor's complete message, if the source has it. */
  message?: string
  /** The whole body, if the source has it. */
  body?: unknown
  /** A sentence from the source, if the source does not quote the vendor's message. */
  quote?: string
  note?: string
}

export interface RecordedRule {
  /** `<vendor>/<file>`. */
  name: string
  vendor: VendorName
  /** The rule in one sentence. */
  rule: string
  refusals: readonly Refusal[]
  /** Further sources that limit the rule. */
  pages?: readonly { source: string; date: string; quote: string }[]
}

/** All recorded rules, in the order of their names. */
export function recordedRules(): RecordedRule[] {
  const folders = readdirSync(import.meta.dir, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return folders
    .flatMap(({ name: vendor }) =>
      readdirSync(join(import.meta.dir, vendor)).map((file) => ({
        name: `${vendor}/${file.replace(/\.json$/, '')}`,
        vendor: vendor as VendorName,
        ...JSON.parse(readFileSync(join(import.meta.dir, vendor, file), 'utf8')),
      })),
    )
    .sort((left, right) => left.name.localeCompare(right.name))
}

/** The version of the messages API in a request to a cloud, by a part of its path. */
const CLOUD_VERSIONS = [
  ['/model/', 'bedrock-2023-05-31'],
  [':rawPredict', 'vertex-2023-10-16'],
] as const

/** The whole request of a refusal. */
export function requestOf({ path, model, request, prompt = 'Hello' }: Refusal): JsonObject {
  if (/\/converse(-stream)?$/.test(path)) {
    return { messages: [{ role: 'user', content: [{ text: prompt }] }], ...request }
  }
  if (path.endsWith(':generateContent')) return { contents: [{ parts: [{ text: prompt }] }], ...request }
  // Clouds expect the model only in the path.
  const version = CLOUD_VERSIONS.find(([place]) => path.includes(place))?.[1]
  const named = version === undefined ? { model } : { anthropic_version: version }
  if (path === '/responses') return { ...named, input: prompt, ...request }
  if (path === '/rerank') return { ...named, ...request }
  const messages = [{ role: 'user', content: prompt }]
  const isClaude = path === '/messages' || version !== undefined
  return { ...named, ...(isClaude && { max_tokens: 20_000 }), messages, ...request }
}
