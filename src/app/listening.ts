// The listening side of the application: it can be shut and opened again on the same port while requests run. Bun can
// only stop accepting by stopping the server, so each opening is a server of its own. It must never cut a running
// request.

import type { Door } from './connection-guard'

/** The part of an Elysia application that is needed. */
interface App {
  server: BunServer | null
  config: { serve?: object | undefined }
  fetch(request: Request): Response | Promise<Response>
  listen(options: ListenOptions): unknown
}

type BunServer = Bun.Server<unknown>

interface ListenOptions {
  hostname: string
  port: number
  reusePort: false
  development: false
}

export interface Listening extends Door {
  /** Accepts nothing new, and resolves when all connections are closed. */
  stop(): Promise<unknown>
  /** Closes all connections that are left. */
  cut(): void
}

/** Opens the listening side. Throws if the address cannot be used. */
export function listen(app: App, hostname: string, port: number): Listening {
  // Two gateways on one port would each get some of the requests, and only one of them has the right keys.
  const options: ListenOptions = { hostname, port, reusePort: false, development: false }
  app.listen(options)
  if (!app.server) throw new Error('the server did not start')
  let current: BunServer = app.server
  let isOpen = true
  /** Every server that still has connections, and a promise for their end. */
  const closing = new Map<BunServer, Promise<void>>()
  const settledPort = current.port ?? port

  function shut(): void {
    if (!isOpen) return
    isOpen = false
    const server = current
    const closed = server.stop().finally(() => closing.delete(server))
    closing.set(server, closed)
  }

  return {
    port: settledPort,
    closeIdle: () => current.closeIdleConnections(),
    shut,
    open() {
      if (isOpen) return
      // `listen` of the application would keep every server that it ever made.
      current = Bun.serve({ ...app.config.serve, ...options, port: settledPort, fetch: app.fetch })
      app.server = current
      isOpen = true
    },
    stop() {
      shut()
      return Promise.all(closing.values())
    },
    cut() {
      for (const server of closing.keys()) void server.stop(true)
    },
  }
}
