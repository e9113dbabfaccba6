"""What a server keeps and how long it is away: acknowledged commits after a crash, operations across a failover."""
