// The entrance of a gateway as configured: the address, the certificate, and the guard of its connections. It follows the
// configuration while it is open. It must never be unguarded on systems where connections can be counted.

import { certificateOf } from '../config/listening'
import type { Config } from '../config/schema'
import { bodyLimitsOf } from '../http/body'
import { headersTimeoutSeconds } from '../http/connection'
import type { Log } from '../lib/system'
import { guardConnections, type Sockets } from './connection-guard'
import { type ListenApp, type Listening, type ListenSettings, listen, type PassedSocket } from './listening'

/** The address at which the process that is being replaced listens. */
export interface Predecessor {
  url: string
  /** Where its metrics are read; null if they have no listener of their own. */
  metricsUrl: string | null
}

interface EntranceOptions {
  placeOf(config: Config): Pick<ListenSettings, 'hostname' | 'port' | 'unixSocket'>
  sockets?: Sockets | undefined
  processes?: { own: string } | undefined
  /** The socket of the gateway that was opened for this process. */
  passed?: PassedSocket | undefined
  /** The process that this one replaces. */
  predecessor?: Predecessor | undefined
}

const MEBIBYTE = 1024 * 1024

export class ListeningSide {
  private readonly listening: Listening
  private settings: ListenSettings
  private endGuard: (() => void) | undefined
  private isFrozen = false

  /** Opens it. Throws if the address or the certificate cannot be used. */
  constructor(
    app: ListenApp,
    private readonly options: EntranceOptions,
    private readonly world: { readonly config: Config; log: Log },
  ) {
    const { config } = world
    this.settings = this.settingsOf(config)
    const { sockets, processes, predecessor, passed } = options
    this.listening = listen(app, this.settings, {
      canShare: sockets !== undefined,
      name: processes?.own ?? 'alone',
      predecessor: predecessor?.url,
      sockets,
      passed,
      steer: (port) => {
        if (!sockets?.steer(port)) world.log('connections_not_steered', { port })
      },
    })
    this.guard(config)
  }

  get url(): string {
    return this.listening.url
  }

  /** Moves to the configured place, and applies the configured guard. Throws, without a change, if it cannot listen there. */
  follow(config: Config): void {
    if (this.isFrozen) return
    const settings = this.settingsOf(config)
    this.endGuard?.()
    try {
      if (Bun.deepEquals(settings, this.settings)) this.listening.open()
      else this.listening.move(settings)
      this.settings = settings
    } finally {
      this.guard(config)
    }
  }

  /** Loads the certificate from the configured files again. */
  async renew(): Promise<void> {
    const { config, log } = this.world
    if (!config.server?.tls || Bun.deepEquals(this.settings.tls, certificateOf(config.server.tls))) return
    this.follow(config)
    log('certificate_renewed', { file: config.server.tls.certFile })
  }

  /** Stops guarding and following the configuration: either could reopen the place that is being left. */
  freeze(): void {
    this.isFrozen = true
    this.endGuard?.()
  }

  /** Continues after `freeze`, at the same place. */
  goOn(): void {
    this.listening.reclaim()
    if (!this.isFrozen) return
    this.isFrozen = false
    this.guard(this.world.config)
  }

  /** Leaves its place to another process. Resolves when all connections are closed. */
  leave(): Promise<void> {
    return this.listening.leave()
  }

  /** Accepts nothing new, and resolves when all connections are closed. */
  stop(): Promise<unknown> {
    this.freeze()
    return this.listening.stop()
  }

  /** Closes all connections that are left. */
  cut(): void {
    this.listening.cut()
  }

  private settingsOf(config: Config): ListenSettings {
    const { tls } = config.server ?? {}
    return {
      ...this.options.placeOf(config),
      ...(tls && { tls: certificateOf(tls) }),
      idleTimeout: headersTimeoutSeconds(config),
      // Above the limit of every entrance, so that our own 413 answers first.
      maxRequestBodySize: Math.max(...Object.values(bodyLimitsOf(config))) + MEBIBYTE,
    }
  }

  private guard(config: Config): void {
    const { sockets } = this.options
    if (sockets)
      this.endGuard = guardConnections({ sockets, door: this.listening, config, log: this.world.log })
  }
}
