// Kept responses, and those in the background: GET /v1/responses/{id} and its input items, cancel and DELETE. Another account's response must read exactly
// as one that does not exist.

import { Elysia } from 'elysia'
import type { BackgroundResponses } from '../../kept-responses/background'
import { type ContentWorld, chainOf, contentsOf, type Item } from '../../kept-responses/content'
import { itemsOfInput, recall } from '../../kept-responses/recall'
import { deleteResponse, type KeptHead } from '../../kept-responses/rows'
import { GatewayError, invalidRequest } from '../../lib/errors'
import { streamOfEvents } from '../../request/answer/background'
import { itemList, itemPageOf, noSuchPlace } from '../item-page'
import { tolerated } from '../paths'
import { queryOf } from '../target'
import { answerKeyed, type KeyedWorld } from '../with-key'

const PATH = '/v1/responses'
/** Longest id that an error repeats, in characters. */
const MAX_SHOWN_LENGTH = 128

type ResponsesWorld = KeyedWorld & ContentWorld & { now(): number; backgroundResponses: BackgroundResponses }

export function responseRoutes(world: ResponsesWorld, mark: Readonly<Record<string, string>>) {
  const { backgroundResponses } = world
  const answer = (request: Request, read: (account: string) => Promise<object>) =>
    answerKeyed(world, request, 'openai', async ({ account }, requestId) =>
      Response.json(await read(account), { headers: { 'x-request-id': requestId, ...mark } }),
    )

  const show = (request: Request, id: string) =>
    answerKeyed(world, request, 'openai', async ({ account }, requestId) => {
      const headers = { 'x-request-id': requestId, ...mark }
      const running = await backgroundResponses.find(account, id)
      const query = queryOf(request)
      if (query.get('stream') === 'true') {
        if (!running) throw noStream()
        const events = backgroundResponses.events(account, id, numberOf(query))
        return new Response(streamOfEvents(events), {
          headers: {
            ...headers,
            'content-type': 'text/event-stream; charset=utf-8',
            'cache-control': 'no-cache',
          },
        })
      }
      if (running)
        return new Response(running.answer, { headers: { ...headers, 'content-type': 'application/json' } })
      const { answer } = await contentOf(world, account, await headOf(world, account, id))
      return Response.json(answer, { headers })
    })

  const cancel = (request: Request, id: string) =>
    answer(request, async (account) => {
      const cancelled = await backgroundResponses.cancel(account, id)
      if (cancelled) return JSON.parse(cancelled.answer)
      await headOf(world, account, id)
      throw invalidRequest(
        'response_id',
        'Only a response in the background can be cancelled, and this one was not.',
        'unsupported_parameter',
      )
    })

  const list = (request: Request, id: string) =>
    answer(request, async (account) => {
      const head = await headOf(world, account, id)
      const { input } = await contentOf(world, account, head)
      const whole = await recall(world, account, { input, previous_response_id: head.previousId })
      return pageOf(whole.input ?? itemsOfInput(input), queryOf(request))
    })

  const remove = (request: Request, id: string) =>
    answer(request, async (account) => {
      const wasRunning = await backgroundResponses.delete(account, id)
      const head = (await chainOf(world, account, id)).at(-1)
      if (head ? !(await deleteResponse(world.db, head)) : !wasRunning) throw notFound(id)
      return { id, object: 'response', deleted: true }
    })

  const app = new Elysia({ name: 'responses' })
  for (const path of tolerated(PATH)) {
    app
      .get(`${path}/:id`, ({ request, params }) => show(request, params.id))
      .get(`${path}/:id/input_items`, ({ request, params }) => list(request, params.id))
      .post(`${path}/:id/cancel`, ({ request, params }) => cancel(request, params.id))
      .delete(`${path}/:id`, ({ request, params }) => remove(request, params.id))
  }
  return app
}

/** The number of the event after which a stream goes on; -1 for the first. */
function numberOf(query: URLSearchParams): number {
  const text = query.get('starting_after')
  if (text === null) return -1
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw invalidRequest('starting_after', "Invalid 'starting_after': expected the number of an event.")
}

async function headOf(world: ResponsesWorld, account: string, id: string): Promise<KeptHead> {
  const head = (await chainOf(world, account, id)).at(-1)
  if (!head) throw notFound(id)
  return head
}

async function contentOf(world: ContentWorld, account: string, { id }: KeptHead) {
  const content = (await contentsOf(world, account, [id])).get(id)
  if (!content) throw notFound(id)
  return content
}

/** A page of the input items, the newest first unless asked otherwise. */
function pageOf(items: readonly Item[], query: URLSearchParams): object {
  const { limit, order, after } = itemPageOf(query)
  const ordered = order === 'asc' ? items : items.toReversed()
  const place = after === null ? -1 : ordered.findIndex(({ id }) => id === after)
  if (after !== null && place === -1) throw noSuchPlace(after)
  const data = ordered.slice(place + 1, place + 1 + limit)
  return itemList(data, place + 1 + data.length < ordered.length)
}

function noStream(): GatewayError {
  return invalidRequest(
    'stream',
    "Only a response in the background can be streamed again, and this one was not. Leave 'stream' out.",
    'unsupported_parameter',
  )
}

function notFound(id: string): GatewayError {
  return new GatewayError(404, {
    code: 'response_not_found',
    message: `Response with id '${shown(id)}' not found. It was not kept, was deleted, or is too old.`,
    param: 'response_id',
  })
}

function shown(id: string): string {
  return id.slice(0, MAX_SHOWN_LENGTH)
}
