// A process that is among those that work on a data directory, without the lock of one that serves, and expects to be killed.

import { registerProcess } from '../../../cli/process/processes'

registerProcess(process.argv[2] ?? '')
console.log('registered')
setInterval(() => {}, 1_000)
