// The listening side of the application: it can be shut and opened again on the same port while requests that run go on.
// Bun has no way to stop accepting but to stop the server, so that each opening is a server of its own.

import type { Door } from './connection-guard'

/** As much of an Elysia application as is needed. */
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
  /** Takes nothing new, and resolves when all connections are closed. */
  stop(): Promise<unknown>
  /** Closes what is left. */
  cut(): void
}

/** Throws where the address cannot be listened on. */
export function listen(app: App, hostname: string, port: number): Listening {
  // Two gateways on one port would each get some of the requests, and only one of them has the right keys.
  const options: ListenOptions = { hostname, port, reusePort: false, development: false }
  app.listen(options)
  if (!app.server) throw new Error('the server did not start')
  let current: BunServer = app.server
  let isOpen = true
  /** Every server that still has connections, with what resolves when it has none. */
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
      // Not by `listen` of the application: that would keep what it made for the last time, for ever.
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
