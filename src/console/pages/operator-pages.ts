// The pages of operators, except the first and the playground, as one script: the first of them that is opened loads the others, and
// together they are packed into a third less.

export { default as codes } from '../selling/codes'
export { default as accounts } from './accounts'
export { default as keys } from './keys'
export { default as models } from './models'
export { default as plans } from './plans'
export { default as requests } from './requests'
export { default as settings } from './settings'
export { default as statements } from './statements'
export { default as tasks } from './tasks'
export { default as upstreams } from './upstreams'
export { default as usage } from './usage'
