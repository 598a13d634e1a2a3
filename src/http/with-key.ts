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

/** Answers a request of a key. `mayRest` also lets a key ask that is paused, or whose account rests. */
export async function answerKeyed(
  world: KeyedWorld,
  request: Request,
  dialect: Dialect,
  work: (key: Key, requestId: string) => Response | Promise<Response>,
  mayRest = false,
): Promise<Response> {
  const requestId = world.newId('req')
  try {
    const authorization = authorizationOf(request, world.config, dialect)
    const { authenticator } = world
    const key = await (mayRest
      ? authenticator.identify(authorization)
      : authenticator.authenticate(authorization))
    return await work(key, requestId)
  } catch (error) {
    return errorResponse(error, dialect, requestId, world.log)
  }
}
