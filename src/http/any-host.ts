// How Elysia finds the path of a request: behind the host, whatever its length, by HTTP and HTTPS, and where Bun knows no
// host.

import type { AnyElysia } from 'elysia'
import { BunAdapter } from 'elysia/adapter/bun'

/** Elysia with `standardHostname: false` searches from the second slash of `https://` on; without it, behind hosts such as `gw`. */
const SEARCH = `u.indexOf('/',7)`
/** Bun gives the path alone where the Host is missing or broken. A host of one letter begins at the seventh character. */
const SEARCH_FOR_ALL = `u.indexOf('/',u.charCodeAt(0)===47?0:8)`

const { composeGeneralHandler } = BunAdapter

/** The adapter of an application that is made with `standardHostname: false`. */
export const anyHostAdapter: typeof BunAdapter = {
  ...BunAdapter,
  composeGeneralHandler: {
    ...composeGeneralHandler,
    createContext(app: AnyElysia) {
      const code = composeGeneralHandler.createContext(app)
      if (!code.includes(SEARCH)) throw new Error('this version of Elysia finds paths in another way')
      return code.replace(SEARCH, SEARCH_FOR_ALL)
    },
  },
}
