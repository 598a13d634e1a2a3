// Serves the console at its ports. Its files contain nothing of this gateway, so anybody who reaches a port gets them. Who may sign
// in depends on the port: admins where the admin API answers them, holders of keys at that of the API. It must load nothing of the
// console before the first request for it.

import type { SessionKind } from '../accounts/sessions'
import type { ConsoleServer } from '../console-server/console-server'
import { clientAddressOf } from '../http/client-address'
import { disableTimeout, type Listener } from '../http/connection'
import { errorResponse } from '../http/errors'
import { pathOf } from '../http/target'
import { GatewayError } from '../lib/errors'
import { isLocal, notFoundForOthers } from '../listen/this-machine'
import type { World } from './world'

const SESSION_PATH = '/console/session'
const LIVE_PATH = '/console/live'
const CONSENT_PATH = '/console/consent'
const SIGN_IN_PATH = '/console/sign-in'
/** Paths that pages call in addition to files. Below the last one are the identity providers. */
export const CONSOLE_PATHS: readonly string[] = [SESSION_PATH, LIVE_PATH, CONSENT_PATH, SIGN_IN_PATH]
const isSignIn = (path: string) => `${path}/`.startsWith(`${SIGN_IN_PATH}/`)

/** Answers requests to /console and below. Never rejects. */
export type ConsoleAtPort = (request: Request, listener: Listener | null) => Promise<Response>

export class ConsoleEntrance {
  private files: Promise<(request: Request) => Response | undefined> | undefined
  private server: Promise<ConsoleServer> | undefined
  private isStopped = false

  /** `mark` are headers that show that vendors are simulated. */
  constructor(
    private readonly world: World,
    private readonly mark: Readonly<Record<string, string>> = {},
  ) {}

  /** At the port of the API: this machine only, unless the configuration allows others. */
  readonly atPort: ConsoleAtPort = (request, listener) => {
    const { admin, console: settings } = this.world.config
    const isHere = isLocal(request, listener)
    const kinds: SessionKind[] = []
    if (admin?.port === undefined && (isHere || admin?.allowRemote === true)) kinds.push('admin')
    if (isHere || settings?.allowRemote === true) kinds.push('key')
    return this.answer(request, listener, kinds)
  }

  /** At the listener of the admin API: admins, from any machine. */
  readonly atAdminPort: ConsoleAtPort = (request, listener) => this.answer(request, listener, ['admin'])

  /** Ends the live events of pages, including those that they begin from now on. */
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
    try {
      if (world.config.console?.enabled === false) throw notServed()
      const path = pathOf(request)
      if (CONSOLE_PATHS.includes(path) || isSignIn(path)) return await this.ask(request, listener, kinds)
      if (request.method !== 'GET' && request.method !== 'HEAD') throw notServed()
      this.files ??= readFiles()
      const answer = (await this.files)(request)
      if (answer) return this.marked(answer)
      throw notServed()
    } catch (error) {
      return errorResponse(error, 'openai', world.newId('req'), world.log)
    }
  }

  /** Sessions, and the live events of pages. */
  private async ask(
    request: Request,
    listener: Listener | null,
    kinds: readonly SessionKind[],
  ): Promise<Response> {
    const { world } = this
    if (kinds.length === 0) throw notFoundForOthers()
    this.server ??= import('../console-server/console-server').then(
      ({ ConsoleServer }) => new ConsoleServer(world),
    )
    const server = await this.server
    if (this.isStopped) server.stop()
    const place = { clientAddress: clientAddressOf(request, listener, world.config), kinds }
    const path = pathOf(request)
    if (path === SESSION_PATH) return this.marked(await server.session(request, place))
    if (isSignIn(path)) return this.marked(await server.signInByIssuer(request, place))
    if (path === CONSENT_PATH) return this.marked(await server.consent(request, place))
    if (request.method !== 'GET') throw onlyGet()
    disableTimeout(listener, request)
    return server.watch(request, place)
  }

  private marked(response: Response): Response {
    for (const [name, value] of Object.entries(this.mark)) response.headers.set(name, value)
    return response
  }
}

async function readFiles(): Promise<(request: Request) => Response | undefined> {
  const { consoleFileAnswer, readConsoleFiles } = await import('../console-server/files')
  const files = await readConsoleFiles()
  return (request) => consoleFileAnswer(files, request)
}

function notServed(): GatewayError {
  return new GatewayError(404, {
    code: 'unknown_route',
    message: 'This file of the console does not exist. The console is at GET /console.',
  })
}

function onlyGet(): GatewayError {
  return new GatewayError(405, {
    code: 'method_not_allowed',
    message: `${LIVE_PATH} takes GET.`,
    headers: { allow: 'GET' },
  })
}
