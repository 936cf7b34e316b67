"""Base against head: does a change make programs slower?"""
