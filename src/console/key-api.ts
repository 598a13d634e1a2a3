// What the pages of a key's holder ask of the gateway: the paths of keys, with the forms of their answers. All of it goes
// through `send`, with the session.

import type { keyWithMoneyJson } from '../accounts/key-json'
import type { usageJson } from '../billing/reports/usage-report'
import type { DescribedPrices } from '../config/models/prices'
import type { OperationName } from '../contract/operations'
import type { ownRequestJson } from '../request-log/own-request'
import { type PageOf, type QueryValues, send, withQuery } from './api'

export type OwnKey = ReturnType<typeof keyWithMoneyJson> & {
  account_status: string
  account_display_name: string | null
  plan: string | null
  allowance_usd: string | null
  allowance_ends_at: string | null
  budget_used_usd: string | null
  budget_renewed_at: string | null
  last_answer_cut: { ended_by: 'balance'; request: string; at: string } | null
  spend_usd: { today: string; this_week: string; this_month: string; total: string }
}
export type OwnRequest = ReturnType<typeof ownRequestJson> & {
  operation: string
  model: string | null
  status: number
  error_code: string | null
  first_byte_ms: number | null
  duration_ms: number | null
  input_tokens: number | null
  output_tokens: number | null
  usage_source: string | null
  ended_by: string | null
}
export interface OwnTask {
  id: string
  state: string
  model: string
  progress: number | null
  held_usd: string
  amount_usd: string
  error: { code: string; message: string | null } | null
  webhook_url: string | null
  created_at: string
  ended_at: string | null
  deadline_at: string
}
export interface OwnCharge {
  id: string
  state: string
  held_usd: string
  amount_usd: string
  usage: unknown
  usage_source: string | null
  ended_by: string | null
  created_at: string | null
  ended_at: string | null
}
export interface OwnRequestDetails {
  id: string
  request: OwnRequest | null
  charges: OwnCharge[]
  task: OwnTask | null
}
export interface OwnArtifact {
  id: string
  request: string
  content_type: string
  bytes: number
  created_at: string
  expires_at: string
  url: string
}
export interface Hold {
  id: string
  model: string
  operation: string
  held_usd: string
  created_at: string
  expires_at: string
}
export interface ModelOptions {
  fields: string[]
  sizes?: string[]
  durations?: { min: number; max: number; default: number }
  dimensions?: number[] | { min: number; max: number }
  input?: string[]
  voices?: string[]
}
export interface PricedModel {
  id: string
  operations: OperationName[]
  /** Dollars for one of each, in the words of model lists. */
  pricing: Record<string, string>
  prices: DescribedPrices | null
  options: Partial<Record<OperationName, ModelOptions>>
  route?: string[]
}
export type OwnUsageRow = ReturnType<typeof usageJson> & Record<string, string | number>
export interface Quote {
  operation: OperationName
  model: string
  most_usd: string
  quantities: Record<string, number>
  prices: Record<string, string>
  /** The request to send, for one in plain words. */
  body?: Record<string, unknown>
}

async function get<Answer>(path: string, query: QueryValues = {}, signal?: AbortSignal): Promise<Answer> {
  const response = await send('GET', withQuery(path, query), signal ? { signal } : {})
  return (await response.json()) as Answer
}

async function post<Answer>(path: string, body: object = {}, signal?: AbortSignal): Promise<Answer> {
  return (await (await send('POST', path, { body, ...(signal && { signal }) })).json()) as Answer
}

export const askKey = (signal?: AbortSignal) => get<OwnKey>('v1/me', {}, signal)
export const askHolds = (signal?: AbortSignal) => get<{ data: Hold[] }>('v1/holds', {}, signal)
export const askPrices = (signal?: AbortSignal) => get<{ data: PricedModel[] }>('v1/prices', {}, signal)
export const askUsage = (query: QueryValues, signal?: AbortSignal) =>
  get<{ rows: OwnUsageRow[]; total: ReturnType<typeof usageJson> }>('v1/usage', query, signal)
export const askRequests = (query: QueryValues, signal?: AbortSignal) =>
  get<PageOf<OwnRequest>>('v1/requests', query, signal)
export const askRequest = (id: string, signal?: AbortSignal) =>
  get<OwnRequestDetails>(`v1/requests/${encodeURIComponent(id)}`, {}, signal)
export const askTasks = (query: QueryValues, signal?: AbortSignal) =>
  get<PageOf<OwnTask>>('v1/tasks', query, signal)
export const askTask = (id: string, signal?: AbortSignal) =>
  get<OwnTask>(`v1/tasks/${encodeURIComponent(id)}`, {}, signal)
export const askArtifacts = (query: QueryValues, signal?: AbortSignal) =>
  get<PageOf<OwnArtifact>>('v1/artifacts', query, signal)
export const askQuote = (of: { path: string; body: object; plain?: boolean }, signal?: AbortSignal) =>
  post<Quote>('v1/quotes', of, signal)
export const redeem = (code: string) =>
  post<{ amount_usd: string; available_usd: string }>('v1/codes/redeem', { code })
export const rollKey = () => post<{ key: string }>('v1/me/roll')
export const rollWebhookSecret = () =>
  post<{ webhook_secret: string; old_until: string }>('v1/me/roll-webhook')
