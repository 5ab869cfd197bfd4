import HiredisClient

/// The operators' scripts for viewing and changing a queue; keys as in `Scripts`.
enum AdminScripts {
  /// → {high, normal, low, claimed, delayed, known, consumers, ms at which the oldest ready job became ready or -1}
  static let depth = RedisScript(
    "#!lua flags=no-writes\n" + Scripts.functions + places
      + """
      local ready, claimed, oldest = standing()
      local delayed = redis.call('HLEN', KEYS[DELAYED])
      return {ready[1], ready[2], ready[3], claimed, delayed, redis.call('HLEN', KEYS[KNOWN]),
        redis.call('ZCARD', KEYS[TIMERS]) - delayed, oldest}
      """)

  /// → {ready, claimed, delayed, ms at which the oldest ready job became ready or -1}
  static let backlog = RedisScript(
    "#!lua flags=no-writes\n" + Scripts.functions + places
      + """
      local ready, claimed, oldest = standing()
      return {ready[1] + ready[2] + ready[3], claimed, redis.call('HLEN', KEYS[DELAYED]), oldest}
      """)

  /// Removes durable jobs that are not claimed: ARGV ids. → those removed
  static let remove = RedisScript(
    Scripts.head + places
      + """
      local removed = {}
      for i = 1, #ARGV do
        local id = ARGV[i]
        local stream, entry = place(id)
        if stream then
          if stream == 0 then
            undelay(id)
          else
            redis.call('XDEL', KEYS[stream], entry)
          end
          redis.call('HDEL', KEYS[KNOWN], id)
          removed[#removed + 1] = id
        end
      end
      return removed
      """)

  /// Reschedules durable jobs that are not claimed: ARGV due time in ms after 1970, then ids. → those rescheduled
  static let reschedule = RedisScript(
    Scripts.head + places
      + """
      local due, time = tonumber(ARGV[1]), now()
      local moved = {}
      for i = 2, #ARGV do
        local id = ARGV[i]
        local stream, entry = place(id)
        if stream == 0 then
          if due > time then
            redis.call('ZADD', KEYS[TIMERS], due, 'd' .. id)
          else
            end_delay(id)
          end
        elseif stream and due > time then
          local found = redis.call('XRANGE', KEYS[stream], entry, entry)
          if #found == 1 then
            redis.call('XDEL', KEYS[stream], entry)
            redis.call('HSET', KEYS[DELAYED], id, found[1][2][2])
            redis.call('ZADD', KEYS[TIMERS], due, 'd' .. id)
            redis.call('HSET', KEYS[KNOWN], id, 'd')
          else
            stream = nil
          end
        end
        if stream then moved[#moved + 1] = id end
      end
      return moved
      """)

  /// Removes jobs that are not claimed: ARGV the maximum number. → how many were removed
  static let clear = RedisScript(
    Scripts.head + places
      + """
      local most, removed = tonumber(ARGV[1]), 0
      for stream = 1, STREAMS do
        local _, last = group(stream)
        if removed < most then
          for _, found in ipairs(redis.call('XRANGE', KEYS[stream], '(' .. last, '+', 'COUNT', most - removed)) do
            redis.call('XDEL', KEYS[stream], found[1])
            local record = found[2][2]
            if string.byte(record, 1) == 1 then redis.call('HDEL', KEYS[KNOWN], string.sub(record, 5, 20)) end
            removed = removed + 1
          end
        end
      end
      -- The timers also contain consumers' leases.
      for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[TIMERS], '-inf', '+inf', 'LIMIT', 0, most + 1000)) do
        if removed < most and string.sub(member, 1, 1) == 'd' then
          local id = string.sub(member, 2)
          undelay(id)
          redis.call('HDEL', KEYS[KNOWN], id)
          removed = removed + 1
        end
      end
      return removed
      """)

  private static let places = """
    -- The number of claimed entries, and the last delivered entry.
    local function group(stream)
      local groups = redis.pcall('XINFO', 'GROUPS', KEYS[stream])
      if groups.err then return 0, '0-0' end
      for _, facts in ipairs(groups) do
        local named = {}
        for i = 1, #facts, 2 do named[facts[i]] = facts[i + 1] end
        if named['name'] == 'workers' then return named['pending'], named['last-delivered-id'] end
      end
      return 0, '0-0'
    end

    -- The number of ready entries by priority, of claimed ones, and the ms at which the oldest ready one was added or
    -- -1. One read finds the streams with entries: an idle queue, whose streams remain, needs no other command.
    local function standing()
      local filled = {}
      local heads = redis.call('XREAD', 'COUNT', 1, 'STREAMS', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6],
        0, 0, 0, 0, 0, 0)
      for _, head in ipairs(heads or {}) do filled[head[1]] = true end
      local ready, claimed, oldest = {0, 0, 0}, 0, -1
      for stream = 1, STREAMS do
        if filled[KEYS[stream]] then
          local held, last = group(stream)
          local priority = (stream - 1) % 3 + 1
          local waiting = redis.call('XLEN', KEYS[stream]) - held
          ready[priority] = ready[priority] + waiting
          claimed = claimed + held
          if waiting > 0 then
            local first = redis.call('XRANGE', KEYS[stream], '(' .. last, '+', 'COUNT', 1)
            local since = #first > 0 and tonumber(string.match(first[1][1], '^%d+'))
            if since and (oldest < 0 or since < oldest) then oldest = since end
          end
        end
      end
      return ready, claimed, oldest
    end

    -- The place of a durable job that is not claimed: 0 if it is delayed, else its stream and entry; nil for none.
    local function place(id)
      local known = redis.call('HGET', KEYS[KNOWN], id)
      if not known then return nil end
      if known == 'd' then return 0 end
      local stream, entry = tonumber(string.sub(known, 1, 1)), string.sub(known, 2)
      local pending = redis.pcall('XPENDING', KEYS[stream], 'workers', entry, entry, 1)
      if not pending.err and #pending > 0 then return nil end
      return stream, entry
    end

    local function undelay(id)
      redis.call('HDEL', KEYS[DELAYED], id)
      redis.call('ZREM', KEYS[TIMERS], 'd' .. id)
    end


    """
}
