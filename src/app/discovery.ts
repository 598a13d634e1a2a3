// Lists the models of the operator's own servers: at the start, after a reload and every minute, if their upstream is
// configured so. If a server does not answer, its last list must stay in use. It must never delay the start.

import type { DiscoveredModels } from '../config/models/discovered'
import type { ListedModels } from '../contract/upstream'
import { CancelToken } from '../lib/cancel-token'
import type { After, Log } from '../lib/system'
import { upstreamKinds } from '../upstreams/kinds'
import { fetchModelList } from '../upstreams/listing'
import type { InForce } from './in-force'

interface DiscoveryWorld extends Pick<InForce, 'config' | 'catalogue' | 'discovered'> {
  after: After
  log: Log
}

const TIMEOUT_MS = 20_000

export class Discovery {
  private lists: DiscoveredModels = new Map()
  private last: Promise<void> = Promise.resolve()
  /** Upstreams whose last request failed: it is logged once. */
  private readonly away = new Set<string>()

  constructor(private readonly world: DiscoveryWorld) {}

  /** Asks all servers that are due, after a running pass. Never rejects. */
  refresh(): Promise<void> {
    this.last = this.last
      .then(() => this.refreshNow())
      .catch((error) => this.world.log('job_failed', { job: 'discover models', reason: String(error) }))
    return this.last
  }

  private async refreshNow(): Promise<void> {
    const { upstreams } = this.world.config
    const names = Object.keys(upstreams).filter((name) => upstreams[name]?.discover)
    if (names.length === 0 && this.lists.size === 0) return
    const found = await Promise.all(names.map(async (name) => [name, await this.modelsOf(name)] as const))
    const lists = new Map(found.flatMap(([name, models]) => (models ? [[name, models] as const] : [])))
    if (Bun.deepEquals(lists, this.lists)) return
    this.world.discovered(lists)
    this.lists = lists
    const models = [...lists.values()].reduce((sum, list) => sum + Object.keys(list).length, 0)
    this.world.log('models_discovered', { upstreams: [...lists.keys()], models })
  }

  /** The models of an upstream; the last known ones while it does not answer. */
  private async modelsOf(name: string): Promise<ListedModels['models'] | undefined> {
    const { config, catalogue, after, log } = this.world
    const upstream = catalogue.upstreams.get(name)
    const kind = upstreamKinds.get(config.upstreams[name]?.kind ?? '')
    if (!upstream || !kind) return undefined
    const cancel = new CancelToken()
    const stop = after(TIMEOUT_MS, () => cancel.abort(new Error('no answer in time')))
    try {
      const listed = await fetchModelList(upstream, kind, cancel.signal)
      this.away.delete(name)
      return listed?.models
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      if (!this.away.has(name)) log('models_not_discovered', { upstream: name, reason })
      this.away.add(name)
      return this.lists.get(name)
    } finally {
      stop()
    }
  }
}
