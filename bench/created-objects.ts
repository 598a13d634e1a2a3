// Loaded into a gateway before it starts: answers with the number of objects of each type that exist. Without garbage collection
// these are all that were ever created. It must never be part of the gateway.
import { heapStats } from 'bun:jsc'

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env.CREATED_OBJECTS_PORT),
  fetch: () => Response.json(heapStats().objectTypeCounts),
})
