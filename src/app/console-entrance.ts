// Where the console's server is reached, and by whom: admins where the admin API answers them, holders of keys at the port
// of the API. It must not be loaded before somebody asks for it.

import type { SessionKind } from '../accounts/sessions'
import type { ConsoleServer } from '../console-server/console-server'
import { clientAddressOf } from '../http/client-address'
import { exempt, type Listener } from '../http/connection'
import { errorResponse } from '../http/errors'
import { pathOf } from '../http/target'
import { GatewayError } from '../lib/errors'
import { isLocal, notHere } from './this-machine'
import type { World } from './world'

const SESSION_PATH = '/console/session'
const LIVE_PATH = '/console/live'

/** Answers a request below /console that is no part of the page. */
export type ConsoleServerAtPort = (request: Request, listener: Listener | null) => Promise<Response>

/** Whether a path below /console is none of the page's files. */
export function isAskedOfServer(path: string): boolean {
  return path === SESSION_PATH || path === LIVE_PATH
}

export class ConsoleEntrance {
  private server: Promise<ConsoleServer> | undefined
  private isStopped = false

  constructor(private readonly world: World) {}

  /** At the port of the API: this machine only, unless the configuration allows others. */
  readonly atPort: ConsoleServerAtPort = (request, listener) => {
    const { admin, console: settings } = this.world.config
    const isHere = isLocal(request, listener)
    const kinds: SessionKind[] = []
    if (admin?.port === undefined && (isHere || admin?.allowRemote === true)) kinds.push('admin')
    if (isHere || settings?.allowRemote === true) kinds.push('key')
    return this.answer(request, listener, kinds)
  }

  /** At the listener of the admin API: admins, whoever reaches it. */
  readonly atAdminPort: ConsoleServerAtPort = (request, listener) => this.answer(request, listener, ['admin'])

  /** Ends what pages watch, and what they begin to watch from now on. */
  async stop(): Promise<void> {
    this.isStopped = true
    if (this.server) (await this.server).stop()
  }

  private async answer(
    request: Request,
    listener: Listener | null,
    kinds: readonly SessionKind[],
  ): Promise<Response> {
    const { world } = this
    if (kinds.length === 0 || world.config.console?.enabled === false)
      return errorResponse(notHere(), 'openai', world.newId('req'), world.log)
    this.server ??= import('../console-server/console-server').then(
      ({ ConsoleServer }) => new ConsoleServer(world),
    )
    const server = await this.server
    if (this.isStopped) server.stop()
    const place = { clientAddress: clientAddressOf(request, listener, world.config), kinds }
    if (pathOf(request) === SESSION_PATH) return server.session(request, place)
    if (request.method !== 'GET') return errorResponse(onlyGet(), 'openai', world.newId('req'), world.log)
    exempt(listener, request)
    return server.watch(request, place)
  }
}

function onlyGet(): GatewayError {
  return new GatewayError(405, {
    code: 'method_not_allowed',
    message: `${LIVE_PATH} takes GET.`,
    headers: { allow: 'GET' },
  })
}
