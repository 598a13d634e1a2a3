// Stored responses, and those in the background: read, followed, cancelled and deleted, with their input items. Another account's
// response must look exactly like one that does not exist.

import { type Static, Type } from '@sinclair/typebox'
import { named, text } from '../../../api-operation/schemas'
import { conditional, readParameter, refusing } from '../../../api-operation/values'
import { type ContentWorld, chainOf, contentsOf, type Item } from '../../../kept-responses/content'
import { itemsOfInput, recall } from '../../../kept-responses/recall'
import { deleteResponse, type KeptHead } from '../../../kept-responses/rows'
import { GatewayError, invalidRequest } from '../../../lib/errors'
import { streamOfEvents } from '../../../request/answer/background'
import { wholeAnswer } from '../../../request/stream/paced-body'
import { InputItemList, ItemPageQuery, itemList, MAX_SHOWN_LENGTH, noSuchPlace } from '../item-list'
import { type CallerWorld, callerOperation, shared } from '../operation'

const ofResponse = {
  tag: 'Text',
  isMarked: true,
  params: { id: 'The id of a response of this account.' },
  missing: responseNotFound('resp_1'),
}

/** The number of the event after which a stream continues. */
const StartingAfter = refusing(
  Type.Integer({
    minimum: 0,
    maximum: 999_999_999,
    description: 'The number of the last event that is known.',
  }),
  () => invalidRequest('starting_after', "Invalid 'starting_after': expected the number of an event."),
)

const show = callerOperation(shared('Response'))({
  ...ofResponse,
  id: 'getResponse',
  endpoint: 'GET /v1/responses/{id}',
  summary: 'A response that was kept',
  query: Type.Object({
    stream: conditional(
      Type.Boolean({ description: 'Whether to follow the events of a response in the background.' }),
    ),
    starting_after: conditional(StartingAfter),
  }),
  answers: 'The response in its current state.',
  async run({ world, key: { account }, params: { id = '' } }, { stream, starting_after: from }) {
    const { backgroundResponses } = world
    const running = await backgroundResponses.find(account, id)
    if (stream === 'true') {
      if (!running) throw noStream()
      const after = from === undefined ? -1 : readParameter('starting_after', StartingAfter, from)
      const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
      return new Response(streamOfEvents(world.backlog, backgroundResponses.events(account, id, after)), {
        headers,
      })
    }
    const headers = { 'content-type': 'application/json' }
    if (running) return wholeAnswer(world.backlog, running.answer, { headers })
    return (await contentOf(world, account, await headOf(world, account, id))).answer
  },
})

const cancel = callerOperation(shared('Response'))({
  ...ofResponse,
  id: 'cancelResponse',
  endpoint: 'POST /v1/responses/{id}/cancel',
  summary: 'Stop a response in the background',
  answers: 'The response in its current state. The output so far is charged.',
  errors: ['badAddress'],
  async run({ world, key: { account }, params: { id = '' } }) {
    const cancelled = await world.backgroundResponses.cancel(account, id)
    if (cancelled) return JSON.parse(cancelled.answer)
    await headOf(world, account, id)
    throw invalidRequest(
      'response_id',
      'Only a response in the background can be cancelled, and this one was not.',
      'unsupported_parameter',
    )
  },
})

const listInput = callerOperation(InputItemList)({
  ...ofResponse,
  id: 'listInputItems',
  endpoint: 'GET /v1/responses/{id}/input_items',
  summary: 'Input of a kept response',
  description: 'The whole input, with what it continued.',
  query: ItemPageQuery,
  answers: 'A page of items.',
  async run({ world, key: { account }, params: { id = '' } }, query) {
    const head = await headOf(world, account, id)
    const { input } = await contentOf(world, account, head)
    const whole = await recall(world, account, { input, previous_response_id: head.previousId })
    return pageOfItems(whole.input ?? itemsOfInput(input), query)
  },
})

const remove = callerOperation(
  named(
    'DeletedResponse',
    { id: text, object: Type.Literal('response'), deleted: Type.Literal(true) },
    { id: 'resp_123', object: 'response', deleted: true },
  ),
)({
  ...ofResponse,
  id: 'deleteResponse',
  endpoint: 'DELETE /v1/responses/{id}',
  summary: 'Delete a response that was kept, with its input',
  answers: 'It is gone.',
  async run({ world, key: { account }, params: { id = '' } }) {
    const wasRunning = await world.backgroundResponses.delete(account, id)
    const head = (await chainOf(world, account, id)).at(-1)
    if (head ? !(await deleteResponse(world.db, head)) : !wasRunning) throw responseNotFound(id)
    return { id, object: 'response', deleted: true }
  },
})

async function headOf(world: CallerWorld, account: string, id: string): Promise<KeptHead> {
  const head = (await chainOf(world, account, id)).at(-1)
  if (!head) throw responseNotFound(id)
  return head
}

async function contentOf(world: ContentWorld, account: string, { id }: KeptHead) {
  const content = (await contentsOf(world, account, [id])).get(id)
  if (!content) throw responseNotFound(id)
  return content
}

function pageOfItems(items: readonly Item[], { limit, order, after }: Static<typeof ItemPageQuery>) {
  const ordered = order === 'asc' ? items : items.toReversed()
  const place = after === undefined ? -1 : ordered.findIndex(({ id }) => id === after)
  if (after !== undefined && place === -1) throw noSuchPlace(after)
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

function responseNotFound(id: string): GatewayError {
  return new GatewayError(404, {
    code: 'response_not_found',
    message: `Response with id '${id.slice(0, MAX_SHOWN_LENGTH)}' not found. It was not kept, was deleted, or is too old.`,
    param: 'response_id',
  })
}

export const responseOperations = [show, cancel, listInput, remove]
