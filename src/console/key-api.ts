// What the pages of a key's holder request from the gateway: the paths of keys, with the forms of their answers. All of it goes
// through `send`, with the session.

import type { KnownCallerOperation } from '../http/callers/operations'
import { changes, type QueryValues, send, withQuery } from './api'

/** The answer of an operation. */
type Answer<Id extends KnownCallerOperation['id']> = NonNullable<
  Extract<KnownCallerOperation, { id: Id }>['types']
>['reply']

export type OwnKey = Answer<'getMe'>
export type OwnRequestDetails = Answer<'getOwnRequest'>
export type OwnRequest = NonNullable<OwnRequestDetails['request']>
export type OwnCharge = OwnRequestDetails['charges'][number]
export type OwnTask = Answer<'getOwnTask'>
export type OwnArtifact = Answer<'listOwnArtifacts'>['data'][number]
export type Hold = Answer<'listOwnHolds'>['data'][number]
export type PricedModel = Answer<'getPrices'>['data'][number]
export type ModelOptions = PricedModel['options'][string]
/** A row has its model, day or other dimension too, by the name of the dimension. */
export type OwnUsageRow = Answer<'getUsage'>['rows'][number] & Record<string, string | number>
export type OwnStatement = Answer<'listOwnStatements'>['data'][number]
export type OwnToken = Answer<'listTokens'>['data'][number]
export type Quote = Answer<'createQuote'>

async function get<Reply>(path: string, query: QueryValues = {}, signal?: AbortSignal): Promise<Reply> {
  const response = await send('GET', withQuery(path, query), signal ? { signal } : {})
  return (await response.json()) as Reply
}

async function post<Reply>(path: string, body: object, signal?: AbortSignal): Promise<Reply> {
  return (await (await send('POST', path, { body, ...(signal && { signal }) })).json()) as Reply
}

/** Sends a change. */
async function change<Reply>(path: string, body: object = {}): Promise<Reply> {
  const reply = await post<Reply>(path, body)
  changes.value++
  return reply
}

export const askKey = (signal?: AbortSignal) => get<OwnKey>('v1/me', {}, signal)
export const askHolds = (signal?: AbortSignal) => get<Answer<'listOwnHolds'>>('v1/holds', {}, signal)
export const askPrices = (signal?: AbortSignal) => get<Answer<'getPrices'>>('v1/prices', {}, signal)
export const askUsage = (query: QueryValues, signal?: AbortSignal) =>
  get<Answer<'getUsage'> & { rows: OwnUsageRow[] }>('v1/usage', query, signal)
export const askRequests = (query: QueryValues, signal?: AbortSignal) =>
  get<Answer<'listOwnRequests'>>('v1/requests', query, signal)
export const askRequestSums = (query: QueryValues, signal?: AbortSignal) =>
  get<Answer<'summariseOwnRequests'>>('v1/requests/summary', query, signal)
export const askRequest = (id: string, signal?: AbortSignal) =>
  get<OwnRequestDetails>(`v1/requests/${encodeURIComponent(id)}`, {}, signal)
export const askTasks = (query: QueryValues, signal?: AbortSignal) =>
  get<Answer<'listOwnTasks'>>('v1/tasks', query, signal)
export const askTask = (id: string, signal?: AbortSignal) =>
  get<OwnTask>(`v1/tasks/${encodeURIComponent(id)}`, {}, signal)
export const askArtifacts = (query: QueryValues, signal?: AbortSignal) =>
  get<Answer<'listOwnArtifacts'>>('v1/artifacts', query, signal)
export const askStatements = (query: QueryValues, signal?: AbortSignal) =>
  get<Answer<'listOwnStatements'>>('v1/statements', query, signal)
export const askStatement = (number: string, signal?: AbortSignal) =>
  get<Answer<'getOwnStatement'>>(`v1/statements/${encodeURIComponent(number)}`, {}, signal)
export const askQuote = (of: { path: string; body: object; plain?: boolean }, signal?: AbortSignal) =>
  post<Quote>('v1/quotes', of, signal)
export const redeem = (code: string) => change<Answer<'redeemCode'>>('v1/codes/redeem', { code })
export const askTokens = (signal?: AbortSignal) => get<Answer<'listTokens'>>('v1/tokens', {}, signal)
export async function revokeOwnToken(id: string): Promise<void> {
  await send('DELETE', `v1/tokens/${encodeURIComponent(id)}`)
  changes.value++
}
export const rollKey = () => change<Answer<'rollOwnKey'>>('v1/me/roll')
export const rollWebhookSecret = () => change<Answer<'rollOwnWebhookSecret'>>('v1/me/roll-webhook')
