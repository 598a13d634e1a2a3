// The console at a port: whoever reaches the port may load its files, which hold nothing of this gateway. What they show is
// asked of the APIs, which know who asks. It must load nothing before the first request.

import type { Config } from '../config/schema'
import { errorResponse } from '../http/errors'
import { GatewayError } from '../lib/errors'
import type { System } from '../lib/system'

/** Answers requests to `/console` and below. Never rejects. */
export type ConsoleAtPort = (request: Request) => Promise<Response>

export function createConsole(
  world: Pick<System, 'newId' | 'log'> & { readonly config: Pick<Config, 'console'> },
): ConsoleAtPort {
  let reading: Promise<(request: Request) => Response | undefined> | undefined
  const read = async () => {
    const { consoleFileAnswer, readConsoleFiles } = await import('../http/console-files')
    const files = await readConsoleFiles()
    return (request: Request) => consoleFileAnswer(files, request)
  }
  return async (request) => {
    try {
      const isThere = world.config.console?.enabled !== false
      if (!isThere || (request.method !== 'GET' && request.method !== 'HEAD')) throw notServed()
      reading ??= read()
      const answer = (await reading)(request)
      if (answer) return answer
      throw notServed()
    } catch (error) {
      return errorResponse(error, 'openai', world.newId('req'), world.log)
    }
  }
}

function notServed(): GatewayError {
  return new GatewayError(404, {
    code: 'unknown_route',
    message: 'There is no such file of the console. GET /console is its page.',
  })
}
