// Answers requests of a key besides the operations: lists, tasks, results. None of them costs anything. It must never
// do any work before the key is known, nor send an error in the wrong form.

import type { Authenticator, Key } from '../accounts/keys'
import type { Config } from '../config/schema'
import type { Dialect } from '../lib/errors'
import type { System } from '../lib/system'
import { authorizationOf } from './authorization'
import { errorResponse } from './errors'

export interface KeyedWorld extends Pick<System, 'newId' | 'log'> {
  authenticator: Authenticator
  config: Pick<Config, 'server'>
}

/** Answers what a key may see of itself, also one that rests. */
export async function answerIdentified(
  world: KeyedWorld,
  request: Request,
  show: (key: Key) => object | Promise<object>,
): Promise<Response> {
  const requestId = world.newId('req')
  try {
    const key = await world.authenticator.identify(authorizationOf(request, world.config, 'openai'))
    const headers = { 'x-request-id': requestId, 'cache-control': 'no-store' }
    return Response.json(await show(key), { headers })
  } catch (error) {
    return errorResponse(error, 'openai', requestId, world.log)
  }
}

export async function answerKeyed(
  world: KeyedWorld,
  request: Request,
  dialect: Dialect,
  work: (key: Key, requestId: string) => Response | Promise<Response>,
): Promise<Response> {
  const requestId = world.newId('req')
  try {
    const key = await world.authenticator.authenticate(authorizationOf(request, world.config, dialect))
    return await work(key, requestId)
  } catch (error) {
    return errorResponse(error, dialect, requestId, world.log)
  }
}
