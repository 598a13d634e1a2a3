// The connections of one origin that wait for another request. It must never give a connection to another partition before it has
// rested, or keep one longer than its server does.

import type { Connection, ConnectionOwner } from './connection'

const MAX_IDLE = 1024
/** Silence after an answer before a connection may serve another partition, in milliseconds. */
const REST_MS = 100
const SWEEP_MS = 1_000

export class IdleConnections implements ConnectionOwner {
  /** Maximum time that a connection waits, in milliseconds. */
  private readonly idleMs: number
  /** Connections, the one that has waited longest first. */
  private connections: Connection[] = []
  private sweeper: Timer | undefined
  private isClosed = false

  constructor(idleMs: number) {
    this.idleMs = idleMs
  }

  free(connection: Connection): void {
    const waitMs = connection.idleMs ?? this.idleMs
    if (this.isClosed || waitMs <= 0) {
      connection.close()
      return
    }
    // The connection that has been idle longest is needed least.
    if (this.connections.length >= MAX_IDLE) this.connections.shift()?.close()
    connection.idleSince = performance.now()
    this.connections.push(connection)
    this.sweeper ??= setInterval(() => this.sweep(), SWEEP_MS).unref()
  }

  closed(connection: Connection): void {
    const at = this.connections.indexOf(connection)
    if (at !== -1) this.connections.splice(at, 1)
  }

  /** Takes the most recently used connection, so that unneeded ones age. */
  take(partition: string | undefined): Connection | undefined {
    const { connections } = this
    const restedSince = performance.now() - REST_MS
    for (let at = connections.length - 1; at >= 0; at--) {
      const connection = connections[at] as Connection
      if (connection.partition !== partition && connection.idleSince > restedSince) continue
      connections.splice(at, 1)
      return connection
    }
    return undefined
  }

  /** Closes waiting connections, and from now on each one that becomes free. */
  close(): void {
    this.isClosed = true
    const { connections } = this
    // Done first, because each closed connection removes itself from the list.
    this.connections = []
    for (const connection of connections) connection.close()
    clearInterval(this.sweeper)
    this.sweeper = undefined
  }

  private sweep(): void {
    const now = performance.now()
    const isOver = ({ idleSince, idleMs = this.idleMs }: Connection) =>
      now - idleSince >= Math.min(idleMs, this.idleMs) - SWEEP_MS
    const over = this.connections.filter(isOver)
    this.connections = this.connections.filter((connection) => !isOver(connection))
    for (const connection of over) connection.close()
    if (this.connections.length > 0) return
    clearInterval(this.sweeper)
    this.sweeper = undefined
  }
}
