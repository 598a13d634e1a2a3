// The identity providers of the current configuration. If its settings are unchanged, it is the same object after a reload, with
// its keys and addresses.

import type { Config } from '../config/schema'
import { Issuer, type IssuerWorld } from './issuer'

/** The current configuration, read again at each use. */
interface Configured {
  readonly config: Pick<Config, 'signIn'>
}

export class Issuers {
  private section: Config['signIn']
  private known = new Map<string, Issuer>()

  constructor(
    private readonly inForce: Configured,
    private readonly world: IssuerWorld,
  ) {}

  /** All providers, by their names. */
  all(): ReadonlyMap<string, Issuer> {
    const section = this.inForce.config.signIn
    if (section === this.section) return this.known
    const before = this.known
    this.section = section
    this.known = new Map(
      Object.entries(section ?? {}).map(([name, entry]) => {
        const kept = before.get(name)
        return [name, kept && Bun.deepEquals(kept.entry, entry) ? kept : new Issuer(name, entry, this.world)]
      }),
    )
    return this.known
  }

  get(name: string): Issuer | undefined {
    return this.all().get(name)
  }
}
