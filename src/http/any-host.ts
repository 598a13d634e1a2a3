// Lets Elysia find the path of a request: after the host, whatever its length, for HTTP and HTTPS, and also if Bun knows no host.

import type { AnyElysia } from 'elysia'
import { BunAdapter } from 'elysia/adapter/bun'

/** Elysia with `standardHostname: false` searches from the second slash of `https://` on; without it, after hosts such as `gw`. */
const SEARCH = `u.indexOf('/',7)`
/** Bun gives only the path if the Host is missing or broken. A host with one letter begins at the seventh character. */
const SEARCH_FOR_ALL = `u.indexOf('/',u.charCodeAt(0)===47?0:8)`

const { composeGeneralHandler } = BunAdapter

/** The adapter of an application that is created with `standardHostname: false`. */
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
