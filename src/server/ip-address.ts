/**
 * The functions of `node:net`, which is loaded when a server first needs one of them, because it takes 5 ms. Most servers
 * need none.
 */
const net = () => process.getBuiltinModule('node:net')

export const isIP = (text: string): number => net().isIP(text)
export const isIPv4 = (text: string): boolean => net().isIPv4(text)
export const isIPv6 = (text: string): boolean => net().isIPv6(text)
